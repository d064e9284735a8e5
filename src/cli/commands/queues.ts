import type { Command } from "commander";
import type { QueueCounts } from "../../index.ts";
import { withLeasehold } from "../client.ts";
import { type StoreFlags, storeOptions } from "../options.ts";
import { data, json, table } from "../output.ts";

export function queues(program: Command): void {
  const command = storeOptions(program.command("queues"))
    .description("count the jobs of each queue; pause and resume queues")
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
  ];
  await table(head, counts.map(row));
}

function row(counts: QueueCounts): string[] {
  const { queue, ready, delayed, blocked, leased, expired, completed, failed, cancelled, paused } = counts;
  return [
    queue,
    ...[ready, delayed, blocked, leased, expired, completed, failed, cancelled].map(String),
    paused ? "paused" : "",
  ];
}

async function setPaused(names: readonly string[], paused: boolean, flags: StoreFlags): Promise<void> {
  await withLeasehold(flags, { create: false }, async (leasehold) => {
    for (const name of names) await (paused ? leasehold.pauseQueue(name) : leasehold.resumeQueue(name));
  });
  if (flags.json) json(names.map((queue) => ({ queue, paused })));
  else for (const name of names) data(`${name}: ${paused ? "paused" : "resumed"}.`);
}
