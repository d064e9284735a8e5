// What an adapter gives: the same few doors into every system, nothing tuned behind them.

/**
 * @typedef {"full" | "normal"} Synchronous
 *
 * @typedef {object} Variant a setting under which wake-ups are measured
 * @property {string} name empty for the system's defaults
 * @property {number} [pollMs]
 * @property {number} [samples] fewer where one takes long
 * @property {Synchronous} [only] measured in one mode alone, where it takes long and the disk hardly matters
 *
 * @typedef {{ n: number, text: string }} Input
 *
 * @typedef {object} Opened
 * @property {(input: Input) => Promise<unknown>} add
 * @property {(inputs: Input[]) => Promise<unknown>} addMany
 * @property {(options: { concurrency: number, onStart(n: number): void, onDone?(): void }) => void} work
 *   `onStart` when a handler begins, `onDone` when its completion is confirmed
 * @property {() => Promise<void>} close
 *
 * @typedef {object} System
 * @property {string} name
 * @property {string} version
 * @property {Record<Synchronous, number>} jobsToDrain enough for a second or so
 * @property {Record<Synchronous, number>} jobsToEnqueue
 * @property {Variant[]} variants
 * @property {boolean} atOnce whether a worker runs several jobs at a time
 * @property {(place: { path: string, synchronous: Synchronous, variant?: Variant }) => Promise<Opened>} open
 */

import { leasehold } from "./leasehold.js";
import { plainjob } from "./plainjob.js";

/** Leasehold first: the others are measured beside it. @type {System[]} */
export const systems = [leasehold, plainjob];

/** @param {string} name @returns {System} */
export function systemNamed(name) {
  const found = systems.find((system) => system.name === name);
  if (found === undefined) throw new Error(`There is no system named ${name}.`);
  return found;
}

/** About 110 bytes of JSON. @param {number} n @returns {Input} */
export function inputOf(n) {
  return { n, text: "x".repeat(88) };
}

/** The same clock in every process of the machine, ms. */
export function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}
