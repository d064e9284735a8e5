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
    const ms = monotonicMs() - lookedMs - LOOK_EVERY_MS;
    if (ms > TOLD_FROM_MS) history.note("loop delay", { detail: { ms, thread } });
    lookedMs = monotonicMs();
  }, LOOK_EVERY_MS).unref();
}
