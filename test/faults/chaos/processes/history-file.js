// A process's history: each line is one synchronous write to the end of the file, so that a SIGKILL loses at most the last,
// and threads of one process may write to the same file.

import { openSync, writeSync } from "node:fs";
import { join } from "node:path";

/** @typedef {import("../record.ts").HistoryEvent} HistoryEvent */
/** @typedef {Omit<HistoryEvent, "atMs" | "process" | "incarnation"> & Partial<Pick<HistoryEvent, "atMs" | "process" | "incarnation">>} Line */
/** @typedef {Omit<Line, "kind" | "op" | "request">} About */

/** CLOCK_MONOTONIC: the same for every process of the machine, and never faked. */
export function monotonicMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

export class HistoryFile {
  #file;
  #process;
  #incarnation;
  #request;
  /** Called before a line is written. */
  beforeEach = () => {};

  /**
   * @param {string} folder
   * @param {string} process who writes: "worker 2"
   * @param {number} incarnation
   * @param {number} [firstRequest] where its request numbers begin: each thread has numbers of its own
   */
  constructor(folder, process, incarnation, firstRequest = 1) {
    this.#file = openSync(join(folder, `${process.replaceAll(" ", "-")}.${incarnation}.jsonl`), "a");
    this.#process = process;
    this.#incarnation = incarnation;
    this.#request = firstRequest;
  }

  nextRequest() {
    return this.#request++;
  }

  /** @param {Line} line */
  append(line) {
    this.beforeEach();
    const event = { atMs: monotonicMs(), process: this.#process, incarnation: this.#incarnation, ...line };
    writeSync(this.#file, `${JSON.stringify(event)}\n`);
  }

  /**
   * @param {string} op
   * @param {About} [rest]
   */
  note(op, rest = {}) {
    this.append({ kind: "note", op, ...rest });
  }
}
