// How fast jobs go in, with no worker about. Callers add for a length of time, since how many jobs that makes differs by a
// factor of hundreds between systems.

import pg from "pg";
import { inputOf } from "../systems/system.js";
import { addFor } from "./add-for.js";
import { inFreshPlace } from "./place.js";
import { startWorkers } from "./workers.js";

const BULK = 1_000;
const WARM_MS = 300;
const MEASURED_MS = 1_500;

/**
 * Jobs a second. Each of `callers` waits for its own job before it adds another, in each of `processes`.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {{ callers: number, processes?: number }} how
 */
export function inFlight(system, setting, { callers, processes = 1 }) {
  const times = timesOf(setting);
  return inFreshPlace(setting, async (place) => {
    const opened = await system.open(place);
    if (processes === 1) {
      const add = (n) => opened.add(inputOf(n));
      await addFor(times.warmMs, callers, add);
      const { rate } = await addFor(times.measuredMs, callers, add);
      await opened.close();
      return rate;
    }
    await opened.close(); // it has made what the others find
    return inProcesses(processes, { system: system.name, place, callers, ...times });
  });
}

/** Jobs a second, by calls of 1,000 of one caller. */
export function bulk(system, setting) {
  const { warmMs, measuredMs } = timesOf(setting);
  return inFreshPlace(setting, async (place) => {
    const opened = await system.open(place);
    const inputs = Array.from({ length: BULK }, (_, n) => inputOf(n));
    await addFor(warmMs, 1, () => opened.addMany(inputs));
    const { rate } = await addFor(measuredMs, 1, () => opened.addMany(inputs));
    await opened.close();
    return rate * BULK;
  });
}

/** Jobs a second, each with a row of the caller's own in one transaction: begin, insert, enqueue, commit. */
export function inCallersTransaction(system, setting) {
  const { warmMs, measuredMs } = timesOf(setting);
  return inFreshPlace(setting, async (place) => {
    const opened = await system.open(place);
    const client = new pg.Client({ connectionString: place.address });
    await client.connect();
    await client.query(
      `create table ${place.schema}.callers_own (id bigint generated always as identity, n integer)`,
    );
    const add = async (n) => {
      await client.query("begin");
      await client.query(`insert into ${place.schema}.callers_own (n) values ($1)`, [n]);
      await opened.addIn(client, inputOf(n));
      await client.query("commit");
    };
    await addFor(warmMs, 1, add);
    const { rate } = await addFor(measuredMs, 1, add);
    await client.end();
    await opened.close();
    return rate;
  });
}

/** All add at the same time: the rates are those of one stretch, so they can be summed. */
async function inProcesses(count, order) {
  let sum = 0;
  let left = count;
  let finish = (/** @type {number} */ _rate) => {};
  const finished = new Promise((resolve) => {
    finish = resolve;
  });
  const adders = await startWorkers(
    count,
    order,
    (news) => {
      if (news.kind !== "added") return;
      sum += news.rate;
      if (--left === 0) finish(sum);
    },
    "adder-process.js",
  );
  try {
    adders.go();
    return await Promise.race([finished, adders.failed]);
  } finally {
    await adders.end();
  }
}

function timesOf({ scale }) {
  return { warmMs: WARM_MS * scale, measuredMs: Math.max(500, MEASURED_MS * scale) };
}
