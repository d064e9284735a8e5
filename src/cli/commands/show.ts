import type { Command } from "commander";
import type { JobView, Leasehold, StoredError, Waits } from "../../index.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import type { NamedLease } from "../../protocol/named-lease.ts";
import { CALL, withLeasehold } from "../client.ts";
import { CliError, EXIT } from "../exit.ts";
import { journalText } from "../journal-text.ts";
import { type StoreFlags, storeOptions } from "../options.ts";
import { data, json, time } from "../output.ts";
import { stepsText } from "../steps-text.ts";

export function show(program: Command): void {
  storeOptions(program.command("show"))
    .description("show a job with its steps, or a named lease, and its journal, or how far a batch has come")
    .argument("<id>", "a job id, lease:NAME or batch:NAME")
    .action(run);
}

async function run(id: string, flags: StoreFlags): Promise<void> {
  if (id.startsWith("batch:")) {
    const batch = id.slice("batch:".length);
    await withLeasehold(flags, { create: false }, (leasehold) => showBatch(leasehold, batch, flags));
    return;
  }
  const name = id.startsWith("lease:") ? id.slice("lease:".length) : undefined;
  await withLeasehold(flags, { create: false }, (leasehold) =>
    name === undefined ? showJob(leasehold, id, flags) : showLease(leasehold, name, flags),
  );
}

async function showJob(leasehold: Leasehold, id: string, flags: StoreFlags): Promise<void> {
  const job = await leasehold.get(id);
  if (job === undefined) {
    throw new CliError(EXIT.notFound, `There is no job ${id}: it never was, or it was deleted or pruned.`);
  }
  const steps = await leasehold.steps(id);
  const journal = await leasehold.journal(id);
  const waits = await leasehold.waits(id);
  if (flags.json) {
    json({ job, ...waits, steps, journal });
    return;
  }
  const nowMs = await leasehold.store.nowMs(CALL);
  const stepSection = steps.length === 0 ? "" : `\nsteps\n${stepsText(job, steps, nowMs)}\n`;
  const known = [...jobFields(job, nowMs), ...waitFields(job, waits)];
  data(`${fields(known)}\n${stepSection}${journalSection(journal)}`);
}

async function showLease(leasehold: Leasehold, name: string, flags: StoreFlags): Promise<void> {
  const lease = await leasehold.store.getLease(name, CALL);
  if (lease === undefined) {
    throw new CliError(
      EXIT.notFound,
      `There is no lease ${JSON.stringify(name)}: nobody has held it, or it was deleted.`,
    );
  }
  const journal = await leasehold.journal(`lease:${name}`);
  if (flags.json) json({ lease, journal });
  else data(`${fields(leaseFields(lease, await leasehold.store.nowMs(CALL)))}\n${journalSection(journal)}`);
}

async function showBatch(leasehold: Leasehold, name: string, flags: StoreFlags): Promise<void> {
  const batch = await leasehold.batch(name);
  if (batch === undefined) {
    throw new CliError(
      EXIT.notFound,
      `There is no batch ${JSON.stringify(name)}: it never was, or was pruned.`,
    );
  }
  if (flags.json) {
    json(batch);
    return;
  }
  const { total, completed, failed, cancelled, thenId } = batch;
  data(
    fields([
      ["batch", name],
      ["ended", `${completed + failed + cancelled} of ${total}`],
      ["completed", String(completed)],
      ["failed", String(failed)],
      ["cancelled", String(cancelled)],
      ["then", thenId],
    ]),
  );
}

type Field = readonly [name: string, value: string | null];

function jobFields(job: JobView, nowMs: number): Field[] {
  const { settled } = job;
  return [
    ["job", job.jobId],
    ["name", job.name],
    ["queue", job.priority === 0 ? job.queue : `${job.queue}, priority ${job.priority}`],
    [
      "state",
      job.endReason === null || job.endReason === job.state ? job.state : `${job.state} (${job.endReason})`,
    ],
    ["generation", String(job.generation)],
    ["owner", job.owner],
    ["lease", job.leaseUntilMs === null ? null : leaseText(job.leaseUntilMs, job.leaseMs, nowMs)],
    ["attempt", `${job.attempt} of ${job.maxAttempts}${job.run > 1 ? `, run ${job.run}` : ""}`],
    ["lapses in a row", job.expiredCount === 0 ? null : String(job.expiredCount)],
    ["cancel", job.cancelRequested ? "requested" : null],
    ["due", job.runAtMs === null ? null : time(job.runAtMs, nowMs)],
    [
      "resource",
      job.resource === null ? null : `${job.resource}, generation ${job.resourceGeneration ?? "-"}`,
    ],
    ["unique key", job.uniqueKey],
    ["enqueued", time(job.createdAtMs, nowMs)],
    ["claimed", job.claimedAtMs === null ? null : time(job.claimedAtMs, nowMs)],
    ["ended", job.finishedAtMs === null ? null : time(job.finishedAtMs, nowMs)],
    [
      "last settling",
      settled === null
        ? null
        : `${settled.operation} with generation ${settled.generation} by ${settled.owner}`,
    ],
    ["input", JSON.stringify(job.input)],
    ["progress", valueText(job.progress)],
    ["result", valueText(job.result)],
    ["error", job.error === undefined ? null : errorText(job.error)],
  ];
}

function waitFields({ blockedBy }: JobView, waits: Waits | undefined): Field[] {
  if (waits === undefined) return [];
  const { batch, blockers } = waits;
  const listed = blockers.map((blocker) =>
    blocker.kind === "batch"
      ? `the end of batch ${blocker.name}`
      : `${blocker.jobId}, which is ${blocker.state} (on failure: ${blocker.onFailure})`,
  );
  if (blockedBy > listed.length) listed.push(`and ${blockedBy - listed.length} more`);
  return [
    ["batch", batch],
    ["blocked by", listed.length === 0 ? null : listed.join(`\n${" ".repeat(16)}`)],
  ];
}

function leaseFields(lease: NamedLease, nowMs: number): Field[] {
  return [
    ["lease", lease.name],
    ["generation", String(lease.generation)],
    ["owner", lease.owner ?? "nobody"],
    ["until", lease.leaseUntilMs === null ? null : leaseText(lease.leaseUntilMs, lease.leaseMs, nowMs)],
    ["held for", lease.heldFor === null ? null : `job ${lease.heldFor}`],
  ];
}

function leaseText(untilMs: number, leaseMs: number, nowMs: number): string {
  return `${untilMs <= nowMs ? "expired" : "until"} ${time(untilMs, nowMs)}, ${leaseMs} ms long`;
}

function fields(list: readonly Field[]): string {
  return list
    .filter((field): field is [string, string] => field[1] !== null)
    .map(([name, value]) => `${name.padEnd(16)}${value}`)
    .join("\n");
}

function valueText(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

function errorText({ name, message, stack }: StoredError): string {
  return (stack ?? `${name}: ${message}`).replaceAll("\n", `\n${" ".repeat(16)}`);
}

function journalSection(journal: readonly JournalEntry[]): string {
  return `\njournal\n${journalText(journal)}`;
}
