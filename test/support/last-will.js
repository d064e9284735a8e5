// Has things undone when this process ends, however it ends: a killed test leaves no server, folder or network behind.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** @typedef {{ endProcessesIn: string } | { remove: string } | { run: readonly string[] }} Wish */

/** @type {import("node:child_process").ChildProcess | undefined} */
let executor;
let wishes = 0;

/**
 * To be awaited before that is done which `wish` undoes: only what the executor has heard is carried out. The last wish
 * comes first.
 *
 * @param {Wish} wish
 * @returns {Promise<() => void>} takes it back
 */
export async function lastWill(wish) {
  const child = executor ?? startExecutor();
  executor = child;
  wishes += 1;
  const id = wishes;
  child.channel?.ref(); // alone it keeps no process alive, but now it is waited for
  const heard = new Promise((resolve) => {
    const hear = (/** @type {{ id: number }} */ told) => {
      if (told.id !== id) return;
      child.off("message", hear);
      resolve(undefined);
    };
    child.on("message", hear);
  });
  child.send({ id, wish });
  await heard;
  child.channel?.unref();
  return () => void child.send({ id });
}

function startExecutor() {
  // Detached: what ends the test from the keyboard must not end this one.
  const child = fork(fileURLToPath(new URL("./last-will-executor.js", import.meta.url)), [], {
    detached: true,
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  child.unref();
  return child;
}
