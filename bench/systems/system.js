// What an adapter gives: the same few doors into every system, nothing tuned behind them but what its name says.

/**
 * @typedef {{ n: number, text: string }} Input
 *
 * @typedef {object} Place what a system is opened on: a database that holds nothing yet
 * @property {string} address a file for SQLite, a connection string for PostgreSQL
 * @property {string} [redis] the Redis of the run, where there is one
 * @property {string} schema for PostgreSQL; the prefix of keys for Redis
 * @property {string} mode SQLite's `synchronous`; on servers always `default`
 * @property {boolean} [watched] count and time what is asked of the store: for `Opened.seen`
 *
 * @typedef {object} Opened
 * @property {(input: Input) => Promise<unknown>} add
 * @property {(inputs: Input[]) => Promise<unknown>} [addMany] door `bulk`
 * @property {(client: import("pg").Client, input: Input) => Promise<unknown>} [addIn] in the transaction that the client
 *   has open; door `tx`
 * @property {(options: { concurrency: number, results?: boolean, pollMs?: number, lasting?: boolean, queues?: readonly string[],
 *   onStart(n: number): unknown, onDone?(): void, onReclaim?(lateMs: number): void }) => unknown}
 *   work `onStart` when a handler begins, `onDone` when its completion is confirmed; `results` (door `results`): handlers
 *   return what they were given, to be kept; `pollMs` (door `seen`): how long it waits before it looks by itself; `lasting`
 *   (door `lasting`): they end with the promise that `onStart` returns, and no more than `concurrency` run at once; of Leasehold
 *   alone: other `queues` than the one that `add` adds to, and `onReclaim` when a handler begins whose job somebody else had
 *   let lapse, so long ago
 * @property {import("./watched.js").Seen} [seen] of a watched place; door `seen`
 * @property {() => Promise<unknown>} close
 *
 * @typedef {object} System
 * @property {string} name its beginning is the name of its file
 * @property {string} version
 * @property {string} [settings] what was set beside its defaults
 * @property {"sqlite" | "postgres" | "redis"} on
 * @property {("enqueue" | "drain" | "wake-up")[]} takesPart which measures tell something of it: where a setting changes
 *   nothing, the default's figure stands for both
 * @property {("bulk" | "tx" | "results" | "seen" | "lasting")[]} doors which of the optional ones it has
 * @property {Record<string, number>} jobsToDrain by mode: enough for a second or more
 * @property {boolean} atOnce whether a worker runs several jobs at a time
 * @property {boolean} [isFastest] the settings with which its kind is fastest: measured in each setting, and not just in the
 *   one that a workload takes for the default
 * @property {number} [concurrency] the one with which it drains fastest, where it does not take the case's
 * @property {number} [pollMs] for how long a job may lie before a worker looks, where nothing tells the worker
 * @property {string} [unfinished] SQL for PostgreSQL: gives a row while a job is left in {schema}
 * @property {string[]} [unfinishedLists] of Redis, in the order in which a job goes through them
 * @property {(place: Place) => Promise<Opened>} open
 * @property {Row} [row] where its jobs stand, for filling by the million
 * @property {(place: Place) => import("../../dist/index.js").Store} [store] of Leasehold alone
 *
 * @typedef {object} Row what it takes to copy a job in its table; names of PostgreSQL are with {schema}
 * @property {string} table
 * @property {string} waiting SQL: gives a row for each job that waits and is due
 * @property {Record<string, string>} given SQL by column, of what differs from job to job, as ids and inputs do: `s` is a
 *   job that the system itself has enqueued, `g.n` is a number that no other copy has
 * @property {Pick<Row, "table" | "given">} [history] where jobs go when they have ended, if that is elsewhere
 */

/** The systems on each database, by their files. Leasehold first: the others are measured beside it. */
const FILES = {
  sqlite: ["leasehold-on-sqlite", "plainjob", "liteque"],
  // BullMQ stands on Redis and competes for the same users.
  postgres: [
    "leasehold-on-postgresql",
    "graphile-worker",
    "pg-boss",
    "bullmq-on-redis",
    "bullmq-on-postgresql",
    "sidequest",
    "bare-postgresql",
  ],
  // What is measured here is Leasehold against itself.
  redis: ["leasehold"],
  none: ["leasehold"],
};

/** @param {string} database @returns {Promise<System[]>} */
export async function systemsOn(database) {
  return (await Promise.all(FILES[database].map(systemsIn))).flat();
}

/**
 * Loads no other system's code: processes are measured too.
 *
 * @param {string} name
 * @returns {Promise<System>}
 */
export async function systemNamed(name) {
  const slug = name.toLowerCase().replaceAll(/[^a-z]+/g, "-");
  const files = Object.values(FILES)
    .flat()
    .filter((file) => slug.startsWith(file))
    .sort((a, b) => b.length - a.length);
  for (const file of files) {
    const found = (await systemsIn(file)).find((system) => system.name === name);
    if (found !== undefined) return found;
  }
  throw new Error(`There is no system named ${name}.`);
}

/** @param {string} file @returns {Promise<System[]>} */
async function systemsIn(file) {
  return (await import(`./${file}.js`)).systems;
}

/** About 110 bytes of JSON. @param {number} n @returns {Input} */
export function inputOf(n) {
  return { n, text: "x".repeat(88) };
}

/** The same clock in every process of the machine, ms. */
export function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}
