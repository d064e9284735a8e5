import { InvalidArgumentError as UnusableArgument } from "commander";
import type { QueueCounts } from "../../index.ts";
import { withLeasehold } from "../client.ts";
import { duration, shortDuration } from "../duration.ts";
import type { StoreFlags } from "../options.ts";
import { data, json } from "../output.ts";

export interface LimitFlags extends StoreFlags {
  readonly concurrency?: number;
  readonly rate?: Rate;
  /** Undefined unless `--none` was given. */
  readonly none?: true;
}

interface Rate {
  readonly count: number;
  readonly perMs: number;
}

/** Reads `100/1m`. */
export function rate(text: string): Rate {
  const [count, per, ...more] = text.split("/");
  if (count === undefined || per === undefined || more.length > 0 || !/^\d+$/.test(count)) {
    throw new UnusableArgument("Give a number of jobs and a length of time, such as 100/1m.");
  }
  return { count: Number(count), perMs: duration(/^\d/.test(per) ? per : `1${per}`) };
}

export async function limitQueues(names: readonly string[], flags: LimitFlags): Promise<void> {
  const { concurrency = null, rate = null, none } = flags;
  const limit = none ? null : { concurrency, rate };
  await withLeasehold(flags, { create: false }, async (leasehold) => {
    for (const name of names) await leasehold.limitQueue(name, limit);
  });
  if (flags.json) json(names.map((queue) => ({ queue, limit })));
  else for (const name of names) data(`${name}: ${limitText(limit) || "no limit"}.`);
}

/** `2 at once, 100 per 1m`; empty without a limit. */
export function limitText(limit: QueueCounts["limit"]): string {
  if (limit === null) return "";
  const { concurrency, rate } = limit;
  return [
    ...(concurrency === null ? [] : [`${concurrency} at once`]),
    ...(rate === null ? [] : [`${rate.count} per ${shortDuration(rate.perMs)}`]),
  ].join(", ");
}
