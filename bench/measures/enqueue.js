// How fast jobs go in, from one process, with no worker about.

import { inputOf, nowMs } from "../systems/system.js";
import { inFreshPlace } from "./place.js";

const BULK = 1_000;
const BULK_CALLS = 20;

/** Each add is waited for. Jobs a second. */
export function oneByOne(system, setting) {
  return inFreshPlace(setting, (place) => inFlight(system, place, 1));
}

/** 32 callers, each waiting for its own. Jobs a second. */
export function thirtyTwoInFlight(system, setting) {
  return inFreshPlace(setting, (place) => inFlight(system, place, 32));
}

/** Calls of 1,000. Jobs a second. */
export function bulk(system, setting) {
  return inFreshPlace(setting, async (place) => {
    const opened = await system.open(place);
    const calls = Array.from({ length: BULK_CALLS }, (_, call) =>
      Array.from({ length: BULK }, (_, n) => inputOf(call * BULK + n)),
    );
    await opened.addMany(calls[0]);
    const beganMs = nowMs();
    for (const inputs of calls) await opened.addMany(inputs);
    const rate = (BULK * BULK_CALLS) / (nowMs() - beganMs);
    await opened.close();
    return rate * 1_000;
  });
}

async function inFlight(system, place, callers) {
  const opened = await system.open(place);
  const jobs = system.jobsToEnqueue[place.mode] * (callers > 1 ? 4 : 1);
  let n = 0;
  const caller = async (until) => {
    while (n < until) await opened.add(inputOf(n++));
  };
  const addMore = async (count) => {
    const until = n + count;
    await Promise.all(Array.from({ length: callers }, () => caller(until)));
  };
  await addMore(jobs / 10); // warm
  const already = n;
  const beganMs = nowMs();
  await addMore(jobs);
  const rate = (n - already) / (nowMs() - beganMs);
  await opened.close();
  return rate * 1_000;
}
