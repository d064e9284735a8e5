import type { World } from "../../clock/world.ts";
import type { Call, Connections } from "./connections.ts";

/** Looked at so soon, then less and less often, ms. */
const FIRST_LOOK_MS = 2;
const LONGEST_LOOK_MS = 250;
/** And not for ever: workers poll anyway, ms. */
const LOOK_FOR_MS = 5_000;

/**
 * Calls `fn` soon after the caller's transaction has committed. A NOTIFY within it would wake as well, but holds a lock of
 * the whole server while the caller's commit waits for its disk, and makes PREPARE TRANSACTION fail.
 */
export async function whenCommitted(
  connections: Connections,
  world: World,
  transactionId: string,
  fn: () => void,
): Promise<void> {
  const call: Call = connections.call("look for a commit", LOOK_FOR_MS, false);
  for (let waitMs = FIRST_LOOK_MS; world.clock.monotonicMs() < call.deadlineMs; waitMs *= 2) {
    await world.timers.sleep(Math.min(waitMs, LONGEST_LOOK_MS));
    const [row] = await connections
      .on(call)
      .rows<{ status: string | null }>("transaction status", [transactionId]);
    if (row?.status === "aborted") return;
    if (row?.status !== "in progress") return fn();
  }
}
