// Carries out, when its parent has ended without taking it back, what the parent has left behind: however it ended.

import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { processesIn, signalAll } from "./processes-in.js";

/** @typedef {import("./last-will.js").Wish} Wish */

/** How long the processes of a folder may take to end by themselves, ms. */
const END_WITHIN_MS = 2_000;

/** @type {Map<number, Wish>} */
const wishes = new Map();

process.on("message", (/** @type {{ id: number, wish?: Wish }} */ { id, wish }) => {
  if (wish === undefined) wishes.delete(id);
  else wishes.set(id, wish);
  process.send?.({ id });
});

process.on("disconnect", async () => {
  for (const wish of [...wishes.values()].reverse()) {
    if ("endProcessesIn" in wish) await endProcessesIn(wish.endProcessesIn);
    else if ("remove" in wish) rmSync(wish.remove, { recursive: true, force: true });
    else spawnSync(wish.run[0] ?? "", wish.run.slice(1), { stdio: "ignore" });
  }
});

/** @param {string} folder */
async function endProcessesIn(folder) {
  signalAll(processesIn(folder), "SIGCONT");
  // On this PostgreSQL ends at once, but still gives its shared memory back.
  signalAll(processesIn(folder), "SIGQUIT");
  const deadlineMs = Date.now() + END_WITHIN_MS;
  while (processesIn(folder).length > 0 && Date.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  signalAll(processesIn(folder), "SIGKILL");
}
