import type { Command } from "commander";
import type { JobState, JobView, ListFilter } from "../../index.ts";
import { CALL, withLeasehold } from "../client.ts";
import { wholeNumber } from "../duration.ts";
import { errorLine } from "../error-line.ts";
import { listOf, oneOf, type StoreFlags, storeOptions } from "../options.ts";
import { json, table, time, words } from "../output.ts";

const STATES = ["ready", "leased", "completed", "failed", "cancelled"] as const satisfies readonly JobState[];

interface ListFlags extends StoreFlags {
  readonly queue?: string;
  readonly job?: string;
  readonly state?: readonly JobState[];
  readonly uniqueKey?: string;
  readonly resource?: string;
  readonly limit: number;
  readonly before?: number;
}

export function list(program: Command): void {
  storeOptions(program.command("list"))
    .description("list jobs, newest first")
    .option("--queue <name>", "of this queue only")
    .option("--job <name>", "of this job name only")
    .option("--state <states>", `of these states only: ${STATES.join(", ")}`, listOf(oneOf(STATES)))
    .option("--unique-key <key>", "with this unique key only")
    .option("--resource <name>", "with this resource only")
    .option("--limit <n>", "at most so many", wholeNumber(1), 50)
    .option("--before <n>", "the next page: what the page before named", wholeNumber(0))
    .action(run);
}

async function run(flags: ListFlags): Promise<void> {
  const filter: ListFilter = {
    ...(flags.queue === undefined ? {} : { queue: flags.queue }),
    ...(flags.job === undefined ? {} : { name: flags.job }),
    ...(flags.state === undefined ? {} : { states: flags.state }),
    ...(flags.uniqueKey === undefined ? {} : { uniqueKey: flags.uniqueKey }),
    ...(flags.resource === undefined ? {} : { resource: flags.resource }),
  };
  const place = { limit: flags.limit, ...(flags.before === undefined ? {} : { before: flags.before }) };
  const { page, nowMs } = await withLeasehold(flags, { create: false }, async (leasehold) => ({
    page: await leasehold.list(filter, place),
    nowMs: await leasehold.store.nowMs(CALL),
  }));
  if (flags.json) {
    json({ jobs: page.jobs, before: page.before ?? null });
    return;
  }
  const head = ["id", "job", "queue", "state", "generation", "attempt", "enqueued", "ended", "why"];
  await table(
    head,
    page.jobs.map((job) => row(job, nowMs)),
  );
  if (page.before !== undefined) words(`There are more: --before ${page.before}`);
}

function row(job: JobView, nowMs: number): string[] {
  return [
    job.jobId,
    job.name,
    job.queue,
    job.blockedBy === 0 ? job.state : `${job.state}, blocked by ${job.blockedBy}`,
    String(job.generation),
    `${job.attempt}/${job.maxAttempts}`,
    time(job.createdAtMs, nowMs),
    time(job.finishedAtMs, nowMs),
    errorLine(job.error) || (job.endReason ?? ""),
  ];
}
