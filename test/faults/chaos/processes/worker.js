// A worker under test: the real build, with a store that writes down what it is asked, handlers that make effects, and a
// world whose fault points obey the controller. It works until SIGTERM.

import { Leasehold } from "leasehold";
import { systemWorld } from "../../../../dist/clock/system.js";
import { Effects } from "./effects.js";
import { Faults } from "./faults.js";
import { HistoryFile } from "./history-file.js";
import { chaosJobs, handler } from "./jobs.js";
import { tellLoopDelays } from "./loop-delay.js";
import { handlesLeft, openHandles } from "./open-handles.js";
import { recordedStore } from "./recorded-store.js";
import { Runs } from "./runs.js";

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

const orders = /** @type {WorkerOrders} */ (JSON.parse(process.argv[2] ?? "{}"));
const { name, incarnation, histories, leaseMs, pollMs, sweepMs, concurrency } = orders;
const history = new HistoryFile(histories, name, incarnation);
const faults = new Faults(history, name);

/** @type {(stop: () => Promise<void>) => void} */
let hasBegun = () => {};
/** @type {Promise<() => Promise<void>>} */
const stopping = new Promise((resolve) => {
  hasBegun = resolve;
});
process.once("SIGTERM", async () => {
  history.note("stopping");
  const stop = await stopping;
  await stop();
});
// Only now: whoever is told to stop from here on does so in order.
history.note("began", { detail: { pid: process.pid, renewer: orders.renewer } });

process.on("uncaughtException", (error, origin) => {
  history.note("unhandled", { detail: { origin, error: String(error), stack: error?.stack } });
  process.exit(1);
});
/** What it tells of itself at its end; what was left open only where no handler still ran. @type {import("../record.ts").ExitDetail} */
let atEnd = {};
process.on("exit", (code) => history.note("exit", { detail: { code, ...atEnd } }));
process.on("message", (/** @type {any} */ order) =>
  "disarm" in order ? faults.disarm(order.disarm) : faults.arm(order),
);
// The controller is gone.
process.on("disconnect", () => process.exit());
const handlesAtStart = openHandles();

/** That of the real build, which to the compiler is another one than the sources'. @type {unknown} */
const built = systemWorld();
const world = Effects.worldWith(
  /** @type {import("../../../../src/clock/world.ts").World} */ (built),
  faults,
);
const { store, database } = await open(orders.store);
const runs = new Runs();
faults.isAt = () => {
  const { job, destination } = Effects.inFlight ?? {};
  return job === undefined ? { jobs: [...runs.unsettled] } : { jobs: [job], destination };
};
const effects = new Effects(history, runs, world, database, orders.destination);

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

worker.on("started", ({ job, previous }) => {
  runs.began(job);
  history.note("started", { ...about(job), detail: { previous } });
});
for (const event of /** @type {const} */ (["completed", "retrying", "failed", "cancelled", "released"])) {
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

tellLoopDelays(history, "main");

async function stop() {
  await leasehold.close();
  await database.close();
  if (runs.inHandlers === 0) atEnd = { handlesAtStart, handles: await handlesLeft() };
  history.note("stopped");
  process.disconnect?.();
}
hasBegun(stop);

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

/**
 * What of the two it does not need is not imported: processes are started all the time.
 *
 * @param {StoreAddress} address
 */
async function open(address) {
  if (address.kind === "sqlite") {
    const { path } = address;
    const { sqlite } = await import("leasehold/sqlite");
    const { sqliteDatabase } = await import("./sqlite-database.js");
    const store = sqlite({ path, synchronous: "normal", sweepMs, world });
    return { store, database: await sqliteDatabase(path, world) };
  }
  const { url: connectionString, listen } = address;
  const { timesTold } = await import("./statements.js");
  const { postgres } = await import("leasehold/postgres");
  const { postgresDatabase } = await import("./postgres-database.js");
  const store = postgres({
    connectionString,
    ...(listen && { listen }),
    sweepMs,
    world,
    trace: timesTold(history),
  });
  return { store, database: await postgresDatabase(orders.databaseUrl ?? connectionString, world) };
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
    isWatched: orders.store.kind === "postgres",
  };
  return { renewalThread: { module: new URL("./renewal.js", import.meta.url), options } };
}
