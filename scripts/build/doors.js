// The files of dist/ that something outside it enters by name: an import, a command, a thread or a process.

/** Of the package: its exports and its command, and the files that its threads and processes start from. */
const PACKAGE = [
  "index",
  "stores/sqlite/index",
  "stores/postgres/index",
  "destinations/postgres/index",
  "destinations/sqlite/index",
  "destinations/http/index",
  "destinations/file/index",
  "destinations/redis/index",
  "testing/index",
  "cli/main",
  "worker/renewal-thread",
  "worker/isolation/own-process",
  "worker/isolation/watchdog-thread",
  "stores/sqlite/renewal",
  "stores/postgres/renewal",
  "cli/batch/worker-process",
  "cli/drill/worker-process",
  "cli/demo/player-process",
  "cli/accounts/service-process",
];

/** Of the programs that tests and benchmarks start, which take more from dist/ than an application can. */
const PROGRAMS_OF_TESTS = [
  "clock/system",
  "destinations/http/either-signal",
  "node-postgres/ending",
  "schedules/next-slot",
  "stores/sqlite/driver",
  "stores/sqlite/sql",
];

/** Each without its ending: `index` is src/index.ts, and stays dist/index.js. */
export const DOORS = [...PACKAGE, ...PROGRAMS_OF_TESTS];
