// A worker that is stopped between its lease's check and its write, with all its threads, until somebody sends SIGCONT.
// No check in front of a write closes that gap; the one beside the counter does.

import { Leasehold } from "leasehold";
import { StaleTokenError } from "leasehold/destinations/redis";
import { sqlite } from "leasehold/sqlite";
import { counterGuard, depositJob } from "./deposit.js";

const [store = "", url = ""] = process.argv.slice(2);
const guard = counterGuard(url);

const deposit = depositJob(async (lease, effect, commands) => {
  lease.assertTrusted?.();
  await tell({ generation: lease.token.generation });
  process.kill(process.pid, "SIGSTOP");
  await new Promise((resolve) => setImmediate(resolve)); // the signal comes at the latest here
  const checked = { token: lease.token, effectScope: lease.effectScope };
  return guard.write(checked, effect, commands).catch(async (error) => {
    await tell({ refused: error instanceof StaleTokenError ? error.message : `It was no refusal: ${error}` });
    throw error;
  });
});

// Renewed by the thread that freezes: another one could be stopped with the file's write lock in its hands.
new Leasehold({ store: sqlite(store), log: () => {} }).work([deposit], { renewer: "inline" });

/**
 * @param {object} news
 * @returns {Promise<void>} when the parent can read it
 */
function tell(news) {
  return new Promise((resolve) => process.send?.(news, undefined, undefined, () => resolve()));
}
