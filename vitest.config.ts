import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";

/** The two halves of the simulated worlds: nothing but computing, so that two fill the machine and more would only wait. */
const WORLDS = ["test/simulation/worlds-*.test.ts"];

/** Runs that are judged by how soon things happen: they have the machine for themselves, after everything else. */
const ALONE = ["test/faults/chaos/chaos.test.ts"];

/** What keeps to itself: these files share their processes, which saves half of what their imports take. */
const TOGETHER = [
  "test/{protocol,client,clock,schedules,testing}/*.test.ts",
  "test/printable.test.ts",
  "test/worker/*.test.ts",
  "test/stores/{memory,sqlite}/*.test.ts",
  "test/faults/chaos/checker/*.test.ts",
  "test/destinations/**/*.test.ts",
];

/** Two more than there are cores in CI: many tests wait for leases and for disks. */
const WORKERS = 4;

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    // Processes: tests kill, stop and start things, and a native SQLite handle belongs to one process.
    pool: "forks",
    // Tests wait for signals, never for time; these are for the day on which a signal does not come.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    sequence: { sequencer: LongestFirst },
    coverage: { provider: "v8", include: ["src/**"] },
    projects: [
      {
        extends: true,
        test: {
          name: "suite",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...TOGETHER, ...WORLDS, ...ALONE],
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "together",
          include: TOGETHER,
          isolate: false,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: "worlds", include: WORLDS, maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: { name: "alone", include: ALONE, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
