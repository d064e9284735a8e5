// Load processes: started, ready, told to go, heard, asked to stop or ended.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("./load-process.js", import.meta.url));
const STOP_WITHIN_MS = 5_000;

/**
 * Resolves when it has opened the store; it does not work before `go`.
 *
 * @param {import("./load-process.js").Load} load
 * @param {(news: any) => void} [onNews]
 */
export async function startLoad(load, onNews = () => {}) {
  const child = fork(script, [JSON.stringify(load)]);
  let ending = false;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const failed = new Promise((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      if (!ending) reject(new Error(`a worker of ${load.system} ended (${signal ?? code})`));
    });
  });
  failed.catch(() => {}); // whoever waits for it is told
  const heard = new Map();
  await Promise.race([
    failed,
    new Promise((resolve) => {
      child.on("message", (/** @type {any} */ news) => {
        if (news.kind === "ready") resolve(undefined);
        heard.get(news.kind)?.(news);
        onNews(news);
      });
    }),
  ]);
  const news = (/** @type {string} */ kind, isIt = (/** @type {any} */ _news) => true) =>
    Promise.race([
      failed,
      new Promise((resolve) => heard.set(kind, (/** @type {any} */ found) => isIt(found) && resolve(found))),
    ]);
  const kill = async () => {
    ending = true;
    child.kill("SIGKILL");
    await exited;
  };
  return {
    pid: /** @type {number} */ (child.pid),
    go: () => void child.send("go"),
    /** The next news of this kind for which `isIt`. @returns {Promise<any>} */
    until: news,
    /** The most that the process has had at a time, MB. @returns {Promise<number>} */
    async peakMb() {
      const told = news("memory");
      child.send("memory");
      return (await told).peakMb;
    },
    /** Whatever ends sooner: it, or the process by itself. @template T @param {Promise<T>} work @returns {Promise<T>} */
    during: (work) => /** @type {Promise<any>} */ (Promise.race([failed, work])),
    /** Gives back what it holds; what does not stop in time is killed. */
    async stop() {
      ending = true;
      if (child.connected) child.send("stop");
      const late = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
      await exited;
      clearTimeout(late);
    },
    kill,
  };
}
