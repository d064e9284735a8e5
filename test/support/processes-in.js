// Finds processes by the folder that they work in: also those whose parent is gone, and those that are stopped.

import { existsSync, readdirSync, readlinkSync } from "node:fs";

/** Undefined where the system tells of its processes in `/proc`, else what is missing. */
export const missingProc = existsSync("/proc/self/cwd") ? undefined : "it is for Linux";

/**
 * @param {string} folder
 * @returns {number[]} their ids
 */
export function processesIn(folder) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && worksIn(name) === folder)
    .map(Number);
}

/** @param {string} pid */
function worksIn(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined; // gone since, or somebody else's
  }
}

/**
 * @param {Iterable<number>} pids
 * @param {NodeJS.Signals} signal
 */
export function signalAll(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // Gone already.
    }
  }
}
