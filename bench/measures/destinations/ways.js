// The same write in several ways, in turns: each way for a moment, then the next, several times over, in one process and on
// one connection or pool. A write counts when its caller has been told that it is done. Rates are medians over the turns.

import { randomUUID } from "node:crypto";
import { median } from "../../statistics.js";
import { nowMs } from "../../systems/system.js";

/** The first turn warms up and does not count. */
const TURNS = 6;

/**
 * @typedef {import("../../../dist/destinations/postgres/index.js").EffectLease} EffectLease
 * @typedef {(lane: number) => Promise<unknown>} Write by the one of several callers whose number it gets
 */

/**
 * Writes a second, and for each way but the first how many of a hundred of the first one's.
 *
 * @param {Record<string, Write>} ways
 * @param {{ inFlight: number, forMs: number }} how `forMs`: each turn
 * @returns {Promise<Record<string, number>>}
 */
export async function inTurns(ways, { inFlight, forMs }) {
  /** @type {Record<string, number[]>} */
  const rates = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [name, write] of Object.entries(ways)) {
      const rate = await rateOf(write, inFlight, forMs);
      if (turn > 0) rates[name].push(rate);
    }
  }
  const [[, plain], ...others] = Object.entries(rates);
  // Of the same turn: what else the machine did met both.
  const shares = others.map(([name, found]) => [
    ofPlain(name),
    median(found.map((rate, turn) => (rate / plain[turn]) * 100)),
  ]);
  const medians = Object.entries(rates).map(([name, found]) => [name, median(found)]);
  return Object.fromEntries([...medians, ...shares]);
}

/** What a way's share of the first one is called. @param {string} way */
export function ofPlain(way) {
  return `${way}, of unguarded`;
}

/** @param {Write} write @param {number} inFlight @param {number} forMs */
async function rateOf(write, inFlight, forMs) {
  const beganMs = nowMs();
  let done = 0;
  const caller = async (/** @type {number} */ lane) => {
    while (nowMs() - beganMs < forMs) {
      await write(lane);
      done++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, lane) => caller(lane)));
  return (done / (nowMs() - beganMs)) * 1_000;
}

/** The lease of a job that has just been claimed: no destination has seen its line. @returns {EffectLease} */
export function newLease() {
  const line = `job:${randomUUID()}`;
  const token = { line, generation: 1, owner: "bench" };
  return /** @type {any} */ ({ token, effectScope: `${line}/1` });
}

/** A lease for each caller, whose line is known after its first write. @param {number} inFlight */
export function knownLeases(inFlight) {
  return Array.from({ length: inFlight }, newLease);
}
