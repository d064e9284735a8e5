import type { Command } from "commander";
import type { QueueCounts } from "../../index.ts";
import { withLeasehold } from "../client.ts";
import { wholeNumber } from "../duration.ts";
import { type StoreFlags, storeOptions } from "../options.ts";
import { data, json, table } from "../output.ts";
import { type LimitFlags, limitQueues, limitText, rate } from "./limit-queue.ts";

export function queues(program: Command): void {
  const command = storeOptions(program.command("queues"))
    .description("count the jobs of each queue; pause, resume and limit queues")
    .action(run);
  storeOptions(command.command("pause"))
    .description("claim no more jobs of these queues; what runs goes on")
    .argument("<name...>", "queues, which need not exist yet")
    .action((names: string[], flags: StoreFlags, self: Command) =>
      setPaused(names, true, allFlags(flags, self)),
    );
  storeOptions(command.command("resume"))
    .description("claim jobs of these queues again")
    .argument("<name...>", "queues")
    .action((names: string[], flags: StoreFlags, self: Command) =>
      setPaused(names, false, allFlags(flags, self)),
    );
  storeOptions(command.command("limit"))
    .description("limit how many jobs of these queues run at once, and begin within a length of time")
    .argument("<name...>", "queues, which need not exist yet")
    .option("--concurrency <n>", "so many at once over all workers", wholeNumber(1))
    .option("--rate <n/time>", "so many begin within that time, such as 100/1m", rate)
    .option("--none", "take the limit away")
    .action((names: string[], flags: LimitFlags, self: Command) =>
      limitQueues(names, { ...allFlags(flags, self), ...flags }),
    );
}

/** `queues --store X pause NAME` and `queues pause NAME --store X` mean the same. */
function allFlags(flags: StoreFlags, self: Command): StoreFlags {
  return { ...self.parent?.opts<StoreFlags>(), ...flags };
}

async function run(flags: StoreFlags): Promise<void> {
  const counts = await withLeasehold(flags, { create: false }, (leasehold) => leasehold.counts());
  if (flags.json) {
    json(counts);
    return;
  }
  const head = [
    "queue",
    "ready",
    "delayed",
    "blocked",
    "leased",
    "expired",
    "completed",
    "failed",
    "cancelled",
    "paused",
    "limit",
  ];
  await table(head, counts.map(row));
}

function row(counts: QueueCounts): string[] {
  const { queue, ready, delayed, blocked, leased, expired, completed, failed, cancelled, paused, limit } =
    counts;
  return [
    queue,
    ...[ready, delayed, blocked, leased, expired, completed, failed, cancelled].map(String),
    paused ? "paused" : "",
    limitText(limit),
  ];
}

async function setPaused(names: readonly string[], paused: boolean, flags: StoreFlags): Promise<void> {
  await withLeasehold(flags, { create: false }, async (leasehold) => {
    for (const name of names) await (paused ? leasehold.pauseQueue(name) : leasehold.resumeQueue(name));
  });
  if (flags.json) json(names.map((queue) => ({ queue, paused })));
  else for (const name of names) data(`${name}: ${paused ? "paused" : "resumed"}.`);
}
