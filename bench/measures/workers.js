// Worker processes: started, ready, told to go, heard, ended.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("./worker-process.js", import.meta.url));

/**
 * @typedef {{ system: string, place: import("../systems/system.js").Place, concurrency: number,
 *   report: "starts" | "counts" | "ends" }} Order what is told: each start at once, or now and then how many have started
 *   or ended
 * @typedef {{ kind: "ready" } | { kind: "done", jobs: number, lastAtMs: number } | { kind: "started", n: number, atMs: number }} News
 */

/**
 * Resolves when all have opened the store; none works before `go`.
 *
 * @param {number} count
 * @param {Order} order
 * @param {(news: News, worker: number) => void} onNews
 */
export async function startWorkers(count, order, onNews) {
  let ending = false;
  const children = [];
  let fail = (/** @type {Error} */ _error) => {};
  /** Rejects when one of them ends by itself. */
  const failed = new Promise((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {}); // whoever waits for it is told
  const ready = Array.from({ length: count }, (_, worker) => {
    const child = fork(script, [JSON.stringify(order)]);
    children.push(child);
    return new Promise((resolve, reject) => {
      child.on("message", (message) => {
        const news = /** @type {News} */ (message);
        if (news.kind === "ready") resolve(undefined);
        else onNews(news, worker);
      });
      child.on("error", reject);
      child.on("exit", (code, signal) => {
        if (ending) return;
        const error = new Error(`a worker of ${order.system} ended (${signal ?? code})`);
        reject(error);
        fail(error);
      });
    });
  });
  await Promise.all(ready);
  return {
    failed,
    go() {
      for (const child of children) child.send("go");
    },
    async end() {
      ending = true;
      await Promise.all(
        children.map((child) => {
          if (child.exitCode !== null || child.signalCode !== null) return undefined;
          return new Promise((resolve) => {
            child.once("exit", resolve);
            child.kill("SIGKILL");
          });
        }),
      );
    },
  };
}
