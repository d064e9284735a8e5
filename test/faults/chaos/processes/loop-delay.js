// How late the event loop of a thread is: each delay is told at its end, and before anything else is, so that none is missed of a
// process that is killed before its timer's turn.

import { monotonicMs } from "./history-file.js";

const LOOK_EVERY_MS = 10;
const TOLD_FROM_MS = 20;

/**
 * @param {import("./history-file.js").HistoryFile} history
 * @param {"main" | "renewer"} thread
 */
export function tellLoopDelays(history, thread) {
  let lookedMs = monotonicMs();
  const tell = (/** @type {number} */ nowMs) => {
    const ms = nowMs - lookedMs - LOOK_EVERY_MS;
    if (ms <= TOLD_FROM_MS) return;
    // Before it is told: writing it down may take long as well.
    lookedMs = nowMs;
    history.note("loop delay", { detail: { ms, thread } });
  };
  history.beforeEach = () => tell(monotonicMs());
  setInterval(() => {
    const nowMs = monotonicMs();
    tell(nowMs);
    lookedMs = nowMs;
  }, LOOK_EVERY_MS).unref();
}
