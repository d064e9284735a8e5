// Starts the two worker processes, wakes the one that froze, and hears what they tell.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { LEASE_MS } from "./jobs.js";

/**
 * @typedef {object} Seen
 * @property {number} reclaimed jobs taken over after a lapse
 * @property {{ path: string, generation: number, current: number }[]} refused late writes
 * @property {string[]} caught the jobs that were hashed and not yet written when the worker froze; none when it did not
 * @property {number} frozenMs for how long it was
 */

const LONGEST_FREEZE_MS = 6 * LEASE_MS;
const LOOK_EVERY_MS = 100;

/**
 * Runs both until `allEnded` says so, and the frozen one has written what it had.
 *
 * @param {{ store: string, scan: string, freezeAfter: number, allEnded: () => Promise<boolean> }} task
 * @returns {Promise<Seen>}
 */
export async function runTwoWorkers({ store, scan, freezeAfter, allEnded }) {
  /** @type {Seen} */
  const seen = { reclaimed: 0, refused: [], caught: [], frozenMs: 0 };
  /** @type {Set<string>} */
  const takenOver = new Set();
  let frozenAtMs = 0;
  let awakeAtMs = 0;
  let lost = "";
  /** @type {() => void} */
  let beginOther = () => {};

  /** @param {Partial<import("./worker.js").Order>} order */
  const start = (order) => {
    const child = fork(fileURLToPath(new URL("./worker.js", import.meta.url)), [
      JSON.stringify({ store, scan, ...order }),
    ]);
    const over = new Promise((resolve) => child.once("exit", resolve));
    child.on("exit", (code, signal) => {
      if (code !== 0) lost = `A worker process ended (${signal ?? `exit code ${code}`}).`;
      beginOther();
    });
    child.on("message", (message) => {
      const news = /** @type {import("./worker.js").News} */ (message);
      if (news.kind === "working") beginOther();
      else if (news.kind === "reclaimed") {
        seen.reclaimed += 1;
        takenOver.add(news.job);
      } else if (news.kind === "refused") seen.refused.push(news);
      else if (news.kind === "awake") {
        awakeAtMs = performance.now();
        seen.frozenMs = awakeAtMs - frozenAtMs;
      } else {
        seen.caught = news.jobs;
        frozenAtMs = performance.now();
        console.log(`Worker 1 is frozen with ${news.jobs.length} files hashed and not yet written.`);
      }
    });
    return { child, over };
  };

  const first = start({ freezeAfter });
  // The other one begins when the first has its first jobs, so that a small folder leaves something to freeze.
  await new Promise((resolve) => {
    beginOther = () => resolve(undefined);
  });
  const other = start({ ...(first.child.pid === undefined ? {} : { peer: first.child.pid }) });

  const isFrozen = () => frozenAtMs > 0 && seen.frozenMs === 0;
  // Awake, it is yet to write what it had: told to stop before that, it might not get to it.
  const hasToWrite = () =>
    awakeAtMs > 0 && seen.refused.length < seen.caught.length && performance.now() - awakeAtMs < LEASE_MS;
  while (lost === "" && (!(await allEnded()) || isFrozen() || hasToWrite())) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    if (!isFrozen()) continue;
    const frozenMs = performance.now() - frozenAtMs;
    // Its jobs should be somebody else's by now; in vain nobody waits for ever.
    const isTime = seen.caught.every((job) => takenOver.has(job)) || frozenMs > LONGEST_FREEZE_MS;
    if (frozenMs > LEASE_MS + 2_000 && isTime) first.child.kill("SIGCONT");
  }
  for (const { child } of [first, other]) {
    if (lost === "") child.send("stop");
    else child.kill("SIGKILL");
  }
  await Promise.all([first.over, other.over]);
  if (lost !== "") throw new Error(`${lost} Start the same command again to go on.`);
  return seen;
}
