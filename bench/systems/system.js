// What an adapter gives: the same few doors into every system, nothing tuned behind them but what its name says.

/**
 * @typedef {object} Variant a setting under which wake-ups are measured
 * @property {string} name empty for the system's defaults
 * @property {number} [pollMs]
 * @property {number} [samples] fewer where one takes long
 * @property {string} [only] measured in one mode alone, where it takes long and the disk hardly matters
 *
 * @typedef {{ n: number, text: string }} Input
 *
 * @typedef {object} Place what a system is opened on: a database that holds nothing yet
 * @property {string} address a file for SQLite, a connection string for PostgreSQL
 * @property {string} schema for PostgreSQL
 * @property {string} mode SQLite's `synchronous`; of PostgreSQL always `default`
 * @property {Variant} [variant]
 *
 * @typedef {object} Opened
 * @property {(input: Input) => Promise<unknown>} add
 * @property {(inputs: Input[]) => Promise<unknown>} addMany
 * @property {(options: { concurrency: number, onStart(n: number): void, onDone?(): void }) => unknown} work
 *   `onStart` when a handler begins, `onDone` when its completion is confirmed
 * @property {() => Promise<unknown>} close
 *
 * @typedef {object} System
 * @property {string} name
 * @property {string} version
 * @property {string} [settings] what was set beside its defaults
 * @property {Record<string, number>} jobsToDrain by mode: enough for a second or so
 * @property {Record<string, number>} jobsToEnqueue
 * @property {Variant[]} variants
 * @property {boolean} atOnce whether a worker runs several jobs at a time
 * @property {number} [concurrency] the one with which it drains fastest
 * @property {string} [unfinished] for PostgreSQL: whether a job is left in {schema}, as the database says
 * @property {(place: Place) => Promise<Opened>} open
 */

import { graphileWorker } from "./graphile-worker.js";
import { leaseholdOnPostgres } from "./leasehold-postgres.js";
import { leaseholdOnSqlite } from "./leasehold-sqlite.js";
import { pgBoss } from "./pg-boss.js";
import { plainjob } from "./plainjob.js";

/**
 * By the database they stand on; Leasehold first: the others are measured beside it.
 *
 * @type {Record<string, System[]>}
 */
export const systems = {
  sqlite: [leaseholdOnSqlite, plainjob],
  postgres: [leaseholdOnPostgres, graphileWorker, pgBoss],
};

/** @param {string} name @returns {System} */
export function systemNamed(name) {
  const found = Object.values(systems)
    .flat()
    .find((system) => system.name === name);
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
