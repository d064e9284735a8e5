// A worker process of this example. One of the two freezes itself in the middle, with several jobs hashed and not yet
// written, for longer than their leases. It does not know: when it wakes it writes, and is refused.

import { Leasehold } from "leasehold";
import { sqlite } from "leasehold/sqlite";
import { checksumJob, LEASE_MS } from "./jobs.js";

/**
 * What it is told at its start.
 *
 * @typedef {object} Order
 * @property {string} store
 * @property {string} scan
 * @property {number} [freezeAfter] freeze after so many jobs; never without it
 * @property {number} [peer] the process to wake should the parent be gone
 *
 * What it tells.
 *
 * @typedef {{ kind: "working" } | { kind: "frozen", jobs: number } | { kind: "awake" } | { kind: "reclaimed" }
 *   | { kind: "refused", path: string, generation: number, current: number }} News
 */

/** So many jobs are to be caught between hashing and writing; fewer when no more come. */
const CAUGHT = 4;

const order = /** @type {Order} */ (JSON.parse(process.argv[2] ?? "{}"));
const leasehold = new Leasehold({ store: sqlite(order.store) });
const job = checksumJob(order.scan, freezer(order.freezeAfter), (path, { generation, current }) =>
  tell({ kind: "refused", path, generation, current }),
);

const worker = leasehold.work([job], { concurrency: 8 });
let working = false;
worker.on("started", ({ previous }) => {
  if (!working) tell({ kind: "working" });
  working = true;
  if (previous !== undefined) tell({ kind: "reclaimed" });
});

process.once("message", async () => {
  await worker.stop();
  await leasehold.close();
  process.off("disconnect", onOrphaned);
  process.disconnect();
});
process.on("disconnect", onOrphaned);
process.on("SIGINT", () => {}); // a terminal's Ctrl-C reaches all processes; the parent alone decides

function onOrphaned() {
  // The parent was killed, and nobody else would wake the frozen one.
  if (order.peer !== undefined) process.kill(order.peer, "SIGCONT");
  process.exit(1);
}

/**
 * @param {News} news
 * @returns {Promise<void>} when the parent can read it
 */
function tell(news) {
  return new Promise((resolve) => process.send?.(news, undefined, undefined, () => resolve()));
}

/**
 * Every job comes by here before it writes. After so many the next ones are held, and then the process is stopped: with
 * all its threads, until somebody sends SIGCONT.
 *
 * @param {number | undefined} after
 */
function freezer(after = Number.POSITIVE_INFINITY) {
  let passed = 0;
  let caught = 0;
  let done = false;
  /** @type {() => void} */
  let release;
  const gate = new Promise((resolve) => {
    release = () => resolve(undefined);
  });

  const freeze = async () => {
    if (done) return;
    done = true;
    await tell({ kind: "frozen", jobs: caught });
    process.kill(process.pid, "SIGSTOP");
    setImmediate(() => {
      void tell({ kind: "awake" });
      release();
    });
  };

  return async () => {
    passed += 1;
    if (done || passed <= after) return;
    caught += 1;
    if (caught === 1) setTimeout(freeze, LEASE_MS / 10);
    if (caught === CAUGHT) void freeze();
    await gate;
  };
}
