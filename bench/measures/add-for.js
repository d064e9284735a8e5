import { nowMs } from "../systems/system.js";

/**
 * Lets `callers` call `add` again and again, each waiting for its own call, until the time is over.
 *
 * @param {number} ms
 * @param {number} callers
 * @param {(n: number) => Promise<unknown>} add
 * @returns {Promise<{ rate: number }>} calls a second, up to the last answer
 */
export async function addFor(ms, callers, add) {
  const beganMs = nowMs();
  const untilMs = beganMs + ms;
  let n = 0;
  const caller = async () => {
    while (nowMs() < untilMs) await add(n++);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { rate: (n / (nowMs() - beganMs)) * 1_000 };
}
