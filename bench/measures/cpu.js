// What Linux tells of processes in /proc; elsewhere nothing.

import { readdirSync, readFileSync } from "node:fs";

/** In these the kernel counts for every program, whatever its own clock is. */
const TICKS_A_SECOND = 100;

/**
 * The CPU seconds of these processes, of all their threads, and of those children of theirs that have ended.
 *
 * @param {readonly number[]} pids
 * @returns {number | undefined} undefined where the machine does not tell
 */
export function cpuSeconds(pids) {
  const stats = pids.map(statOf).filter((stat) => stat !== undefined);
  if (stats.length === 0) return undefined;
  return stats.reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_A_SECOND;
}

/** @param {number} pid @returns {number[]} it and its children, as PostgreSQL has one for each connection */
export function withChildren(pid) {
  try {
    const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return [pid, ...all.map(Number).filter((other) => statOf(other)?.parent === pid)];
  } catch {
    return [];
  }
}

/** @param {number} pid */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in brackets before it may hold anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [user, system, childrensUser, childrensSystem] = fields.slice(11, 15).map(Number);
    return { parent: Number(fields[1]), ticks: user + system + childrensUser + childrensSystem };
  } catch {
    return undefined; // it has ended, or there is no /proc
  }
}
