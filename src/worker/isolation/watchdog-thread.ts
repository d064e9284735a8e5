/**
 * A thread of each isolated process. Whatever the handler does to the main loop, it hears of deadlines over a pipe of its own,
 * and kills the process when one has passed or when the worker at the other end is gone, however that ended.
 */

import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemWorld } from "../../clock/system.ts";
import { killOwnGroup } from "./kill-group.ts";
import { type Deadline, KILLED_ITSELF, LAST_WORDS_FD, WATCHDOG_FD } from "./messages.ts";
import { TrustCell } from "./trust-cell.ts";
import { Watchdog } from "./watchdog.ts";

const cell = new TrustCell(workerData as SharedArrayBuffer);
const watchdog = new Watchdog(systemWorld(), cell, () => {
  try {
    writeSync(LAST_WORDS_FD, `${KILLED_ITSELF}\n`);
  } catch {
    // Nobody reads it: a reason the more.
  }
  killOwnGroup();
});

const pipe = new Socket({ fd: WATCHDOG_FD, readable: true, writable: false });
pipe.once("error", killOwnGroup);
pipe.once("close", killOwnGroup);
createInterface({ input: pipe }).on("line", (line) => watchdog.set(JSON.parse(line) as Deadline));
(parentPort as MessagePort).postMessage("awake");
