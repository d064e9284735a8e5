// A worker process of this example. One of the two freezes itself in the middle, with several jobs hashed and not yet
// written, for longer than their leases. It does not know: when it wakes it writes, and is refused.

import { Leasehold } from "leasehold";
import { checksumJob, LEASE_MS } from "./jobs.js";
import { placeAt } from "./place.js";

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
 * @typedef {{ kind: "working" } | { kind: "frozen", jobs: string[] } | { kind: "awake" } | { kind: "reclaimed", job: string }
 *   | { kind: "refused", path: string, generation: number, current: number }} News
 */

/** So many jobs are to be caught between hashing and writing; fewer when no more come. */
const CAUGHT = 4;

const order = /** @type {Order} */ (JSON.parse(process.argv[2] ?? "{}"));
const place = placeAt(order.store);
const leasehold = new Leasehold({ store: place.store });
const job = checksumJob(place, order.scan, freezer(order.freezeAfter), (path, { generation, current }) =>
  tell({ kind: "refused", path, generation, current }),
);

// A frozen thread would keep the file's write lock if it was just committing, and hold up everybody. The one that freezes
// stops between two steps of its only thread, so it renews its leases from there too.
const renewer = order.freezeAfter === undefined ? "thread" : "inline";
const worker = leasehold.work([job], { concurrency: 8, renewer });
let working = false;
worker.on("started", ({ job: { id }, previous }) => {
  if (!working) tell({ kind: "working" });
  working = true;
  if (previous !== undefined) tell({ kind: "reclaimed", job: id });
});

process.once("message", async () => {
  await worker.stop();
  await leasehold.close();
  process.off("disconnect", onOrphaned);
  process.disconnect();
});
process.on("disconnect", onOrphaned);
process.on("SIGINT", () => {}); // a terminal's Ctrl-C reaches all processes; the parent alone decides

/** The parent was killed, and nobody else would wake the frozen one. */
function onOrphaned() {
  try {
    if (order.peer !== undefined) process.kill(order.peer, "SIGCONT");
  } catch {
    // It has ended already.
  }
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
  /** @type {string[]} */
  const caught = [];
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

  /** @param {string} jobId */
  return async (jobId) => {
    passed += 1;
    if (done || passed <= after) return;
    caught.push(jobId);
    if (caught.length === 1) setTimeout(freeze, LEASE_MS / 10);
    if (caught.length === CAUGHT) void freeze();
    await gate;
  };
}
