// How late the event loop of a thread is: each delay is told at its end, so that none of it is missed.

import { monotonicMs } from "./history-file.js";

const LOOK_EVERY_MS = 10;
const TOLD_FROM_MS = 20;

/**
 * @param {import("./history-file.js").HistoryFile} history
 * @param {"main" | "renewer"} thread
 */
export function tellLoopDelays(history, thread) {
  let lookedMs = monotonicMs();
  setInterval(() => {
    const nowMs = monotonicMs();
    const ms = nowMs - lookedMs - LOOK_EVERY_MS;
    // Before it is told: writing it down may take long as well.
    lookedMs = nowMs;
    if (ms > TOLD_FROM_MS) history.note("loop delay", { detail: { ms, thread } });
  }, LOOK_EVERY_MS).unref();
}
