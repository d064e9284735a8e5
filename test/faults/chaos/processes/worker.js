// A worker under test: the real build, with a store that writes down what it is asked, handlers that make effects, and a
// world whose fault points obey the controller. It works until SIGTERM.

import { Leasehold } from "leasehold";
import { postgres } from "leasehold/postgres";
import { sqlite } from "leasehold/sqlite";
import { systemWorld } from "../../../../dist/clock/system.js";
import { Effects } from "./effects.js";
import { Faults } from "./faults.js";
import { HistoryFile, monotonicMs } from "./history-file.js";
import { chaosJobs, handler } from "./jobs.js";
import { postgresDatabase } from "./postgres-database.js";
import { recordedStore } from "./recorded-store.js";
import { Runs } from "./runs.js";
import { sqliteDatabase } from "./sqlite-database.js";

/** @typedef {{ readonly kind: "sqlite", readonly path: string } | { readonly kind: "postgres", readonly url: string, readonly listen?: string }} StoreAddress */
/**
 * @typedef {{
 *   readonly name: string,
 *   readonly incarnation: number,
 *   readonly histories: string,
 *   readonly store: StoreAddress,
 *   readonly databaseUrl: string | undefined,
 *   readonly destination: string,
 *   readonly renewer: "thread" | "inline",
 *   readonly leaseMs: number,
 *   readonly pollMs: number,
 *   readonly sweepMs: number,
 *   readonly concurrency: number,
 *   readonly callTimeoutMs: number,
 *   readonly graceMs: number,
 * }} WorkerOrders
 */

const LOOK_EVERY_MS = 10;
const TOLD_FROM_MS = 20;

const orders = /** @type {WorkerOrders} */ (JSON.parse(process.argv[2] ?? "{}"));
const { name, incarnation, histories, leaseMs, pollMs, sweepMs, concurrency } = orders;
const history = new HistoryFile(histories, name, incarnation);
const faults = new Faults(history, name);
history.note("began", { detail: { pid: process.pid, renewer: orders.renewer } });

process.on("uncaughtException", (error, origin) => {
  history.note("unhandled", { detail: { origin, error: String(error), stack: error?.stack } });
  process.exit(1);
});
process.on("exit", (code) => history.note("exit", { detail: { code } }));
process.on("message", (/** @type {any} */ order) =>
  "disarm" in order ? faults.disarm(order.disarm) : faults.arm(order),
);
// The controller is gone.
process.on("disconnect", () => process.exit());

/** That of the real build, which to the compiler is another one than the sources'. @type {unknown} */
const built = { ...systemWorld(), reached: faults.reached.bind(faults) };
const world = /** @type {import("../../../../src/clock/world.ts").World} */ (built);
const sending = Effects.sendingIn(world);
const store = open(orders.store);
const database =
  orders.store.kind === "sqlite"
    ? await sqliteDatabase(orders.store.path, sending)
    : await postgresDatabase(orders.databaseUrl ?? orders.store.url, sending);
const runs = new Runs();
faults.isAt = () => {
  const { job, destination } = Effects.inFlight ?? {};
  return job === undefined ? { jobs: [...runs.unsettled] } : { jobs: [job], destination };
};
const effects = new Effects(history, runs, sending, database, orders.destination);

const leasehold = new Leasehold({
  store: recordedStore(store, history, faults, recordedRenewals()),
  world,
  callTimeoutMs: orders.callTimeoutMs,
  log: ({ level, kind, message }) => history.note("log", { detail: { level, kind, message } }),
});
const worker = leasehold.work(Object.values(chaosJobs(leaseMs, handler(effects, history, runs))), {
  concurrency,
  pollMs,
  graceMs: orders.graceMs,
  renewer: orders.renewer,
});
history.note("working", { owner: worker.owner });
process.send?.({ what: "working" });

for (const event of /** @type {const} */ ([
  "started",
  "completed",
  "retrying",
  "failed",
  "cancelled",
  "released",
])) {
  worker.on(event, ({ job }) => over(event, job, {}));
}
worker.on("aborted", ({ job, reason }) => history.note("aborted", { ...about(job), detail: { reason } }));
worker.on("lost", ({ job, refusal }) => over("lost", job, { detail: { refusal } }));
worker.on("stuck", ({ job, reason }) => history.note("stuck", { ...about(job), detail: { reason } }));
worker.on("healed", ({ job, mark }) => history.note("healed", { ...about(job), detail: { mark } }));
worker.on("scheduled", ({ schedule, slotMs, answer }) =>
  history.note("scheduled", { job: answer.jobId, detail: { schedule, slotMs, outcome: answer.outcome } }),
);
worker.on("unreachable", () => history.note("unreachable"));
worker.on("reachable", () => history.note("reachable"));

// Each delay of the loop is told at its end, so that none of it is missed.
let lookedMs = monotonicMs();
setInterval(() => {
  const ms = monotonicMs() - lookedMs - LOOK_EVERY_MS;
  if (ms > TOLD_FROM_MS) history.note("loop delay", { detail: { ms } });
  lookedMs = monotonicMs();
}, LOOK_EVERY_MS).unref();

process.once("SIGTERM", async () => {
  history.note("stopping");
  await leasehold.close();
  await database.close();
  history.note("stopped");
  process.disconnect?.();
});

/**
 * @param {string} event
 * @param {import("../../../../src/worker/events.ts").RunRef} job
 * @param {import("./history-file.js").About} rest
 */
function over(event, job, rest) {
  runs.over(job.id);
  history.note(event, { ...about(job), ...rest });
}

/** @param {import("../../../../src/worker/events.ts").RunRef} job */
function about({ id, generation, token }) {
  return { job: id, line: `job:${id}`, generation, owner: token.owner };
}

/** @param {StoreAddress} address */
function open(address) {
  if (address.kind === "sqlite") return sqlite({ path: address.path, synchronous: "normal", sweepMs, world });
  const { url: connectionString, listen } = address;
  return postgres({ connectionString, ...(listen && { listen }), sweepMs, world });
}

/** The thread imports our module, which imports the store's. */
function recordedRenewals() {
  const spec = store.renewalThread;
  if (spec === undefined) return {};
  const options = {
    module: spec.module.href,
    options: spec.options,
    folder: histories,
    name,
    incarnation,
    faults: faults.buffer,
  };
  return { renewalThread: { module: new URL("./renewal.js", import.meta.url), options } };
}
