// Processes that work, or add: started, ready, told to go, heard, asked, ended.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * @typedef {{ system: string, place: import("../systems/system.js").Place, concurrency: number, workers?: number,
 *   results?: boolean, pollMs?: number, report: "starts" | "counts" | "ends" }} Order of `worker-process.js`: how many workers are in each
 *   process, and what is told, each start at once, or now and then how many jobs have started or ended
 * @typedef {import("../systems/watched.js").Seen} Seen
 * @typedef {{ kind: "ready" } | { kind: "done", jobs: number, lastAtMs: number } |
 *   { kind: "started", n: number, atMs: number } | { kind: "added", rate: number } | { kind: "seen", seen: Seen[] }} News
 * @typedef {Awaited<ReturnType<typeof startWorkers>>} Workers
 */

/**
 * Resolves when all have opened the store; none works before `go`.
 *
 * @param {number} count
 * @param {Order | Record<string, unknown>} order
 * @param {(news: News, worker: number) => void} onNews
 * @param {string} [script] in this folder
 */
export async function startWorkers(count, order, onNews, script = "worker-process.js") {
  const path = fileURLToPath(new URL(`./${script}`, import.meta.url));
  let ending = false;
  const children = [];
  const asked = new Map();
  let fail = (/** @type {Error} */ _error) => {};
  /** Rejects when one of them ends by itself. */
  const failed = new Promise((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {}); // whoever waits for it is told
  const end = async () => {
    ending = true;
    await Promise.all(children.map(killed));
  };
  const ready = Array.from({ length: count }, (_, worker) => {
    const child = fork(path, [JSON.stringify(order)]);
    children.push(child);
    return new Promise((resolve, reject) => {
      child.on("message", (message) => {
        const news = /** @type {News} */ (message);
        if (news.kind === "ready") resolve(undefined);
        else if (news.kind === "seen") asked.get(child)?.(news.seen);
        else onNews(news, worker);
      });
      child.on("error", reject);
      child.on("exit", (code, signal) => {
        if (ending) return;
        const error = new Error(`a process of ${order.system} ended (${signal ?? code})`);
        reject(error);
        fail(error);
      });
    });
  });
  await Promise.all(ready).catch(async (error) => {
    await end();
    throw error;
  });
  return {
    failed,
    pids: children.map(({ pid }) => pid),
    go() {
      for (const child of children) child.send("go");
    },
    /** What watched stores have seen so far, one for each worker. @returns {Promise<Seen[]>} */
    async seen() {
      const answers = children.map(
        (child) =>
          new Promise((resolve) => {
            asked.set(child, resolve);
            child.send("seen");
          }),
      );
      return /** @type {Seen[][]} */ (await Promise.race([Promise.all(answers), failed])).flat();
    },
    end,
  };
}

function killed(child) {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  return new Promise((resolve) => {
    child.once("exit", resolve);
    child.kill("SIGKILL");
  });
}
