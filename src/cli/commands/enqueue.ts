import type { Command } from "commander";
import type { EnqueueAnswer } from "../../protocol/enqueue.ts";
import { duration, wholeNumber } from "../duration.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { listOf, oneOf, type StoreFlags, storeOptions } from "../options.ts";
import { data, json, keepStdoutForData } from "../output.ts";

const ON_CONFLICT = ["keep", "throw", "replace", "followUp"] as const;
const ON_FAILURE = ["fail", "run", "wait"] as const;

interface EnqueueFlags extends StoreFlags {
  readonly module?: string;
  readonly jobId?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly delay?: number;
  readonly runAt?: Date;
  readonly maxAttempts?: number;
  readonly lease?: number;
  readonly maxRun?: number;
  readonly resource?: string;
  readonly uniqueKey?: string;
  readonly onConflict?: (typeof ON_CONFLICT)[number];
  readonly after?: readonly string[];
  readonly onFailure?: (typeof ON_FAILURE)[number];
  readonly wait?: boolean;
  readonly timeout: number;
}

export function enqueue(program: Command): void {
  storeOptions(program.command("enqueue"))
    .description("enqueue one job")
    .argument("<name>", "the job's name")
    .argument("[input]", "its input as JSON, or - for standard input", "null")
    .option(
      "--module <file>",
      "the JOBS_MODULE that defines it: checks the input, and gives the job's own defaults",
    )
    .option("--job-id <uuid>", "the job's id; the same id again is the same job")
    .option("--queue <name>", "the queue (default: the job's name)")
    .option("--priority <n>", "lower runs first", wholeNumber(-(2 ** 31) + 1))
    .option("--delay <duration>", "due after so long, such as 30s or 5m", duration)
    .option("--run-at <time>", "due at this time, ISO 8601", moment)
    .option("--max-attempts <n>", "how many runs it gets before it has failed", wholeNumber(1))
    .option("--lease <duration>", "how long a worker owns it before it must renew", duration)
    .option("--max-run <duration>", "the longest that one run may take", duration)
    .option("--resource <name>", "what it shares with others: one such job at a time")
    .option("--unique-key <key>", "at most one live job of this name has this key")
    .option("--on-conflict <what>", `when the key is taken: ${ON_CONFLICT.join(", ")}`, oneOf(ON_CONFLICT))
    .option("--after <ids>", "run once these jobs have ended, comma-separated", listOf(String))
    .option("--on-failure <what>", `when one of those fails: ${ON_FAILURE.join(", ")}`, oneOf(ON_FAILURE))
    .option("--wait", "wait for its end and print its result")
    .option("--timeout <duration>", "how long --wait waits", duration, 60_000)
    .action(run);
}

async function run(name: string, inputText: string, flags: EnqueueFlags): Promise<void> {
  const { withLeasehold } = await import("../client.ts");
  if (flags.delay !== undefined && flags.runAt !== undefined)
    throw usageError("Give --delay or --run-at, not both.");
  if (flags.onConflict !== undefined && flags.uniqueKey === undefined) {
    throw usageError("--on-conflict needs --unique-key.");
  }
  if ((flags.after === undefined) !== (flags.onFailure === undefined)) {
    throw usageError("Give --after and --on-failure together.");
  }
  if (flags.json) keepStdoutForData();
  const input = await parsedInput(inputText);
  const job = await definitionOf(name, flags.module);
  await withLeasehold(flags, { create: true }, async (leasehold) => {
    const answer = await leasehold.enqueue(job, input, optionsOf(flags));
    if (!flags.json) data(sentence(answer));
    if (answer.outcome === "conflict") process.exitCode = EXIT.refused;
    if (!flags.wait || answer.outcome === "conflict") {
      if (flags.json) json(answer);
      return;
    }
    const result = await leasehold.result(answer.jobId, { timeoutMs: flags.timeout });
    if (flags.json) json({ ...answer, result: result ?? null });
    else data(JSON.stringify(result ?? null));
  });
}

function optionsOf(flags: EnqueueFlags): Record<string, unknown> {
  const { uniqueKey, onConflict } = flags;
  const options = {
    jobId: flags.jobId,
    queue: flags.queue,
    priority: flags.priority,
    delayMs: flags.delay,
    runAt: flags.runAt,
    maxAttempts: flags.maxAttempts,
    leaseMs: flags.lease,
    maxRunMs: flags.maxRun,
    resource: flags.resource,
    after: flags.after,
    onFailure: flags.onFailure,
    unique:
      uniqueKey === undefined
        ? undefined
        : { key: uniqueKey, ...(onConflict === undefined ? {} : { onConflict }) },
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

async function definitionOf(name: string, module: string | undefined) {
  if (module === undefined) {
    const { defineJob } = await import("../../index.ts");
    return defineJob({
      name,
      run: () => {
        throw new Error("This definition only enqueues.");
      },
    });
  }
  const { jobNames, loadJobs } = await import("../jobs-module.ts");
  const jobs = await loadJobs(module);
  const job = jobs.get(name);
  if (job === undefined)
    throw usageError(`${module} has no job ${JSON.stringify(name)}; it has ${jobNames(jobs)}.`);
  return job;
}

async function parsedInput(given: string): Promise<unknown> {
  const text = given === "-" ? await standardInput() : given;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(
      `The input is not JSON: ${(error as Error).message}. Quote it for the shell: '{"account":"42"}'.`,
    );
  }
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function moment(text: string): Date {
  const time = new Date(text);
  // Without a zone the same text means different moments on different machines.
  if (Number.isNaN(time.getTime()) || !/(?:Z|[+-]\d\d:?\d\d)$/.test(text)) {
    throw new CliError(
      EXIT.usage,
      `--run-at: ${JSON.stringify(text)} is not a time. Give 2027-01-31T08:00:00Z.`,
    );
  }
  return time;
}

function sentence(answer: EnqueueAnswer): string {
  switch (answer.outcome) {
    case "enqueued":
      return answer.behind === undefined
        ? `${answer.jobId}: enqueued.`
        : `${answer.jobId}: enqueued, blocked behind ${answer.behind}.`;
    case "repeated":
      return `${answer.jobId}: was there before; it is ${answer.state}.`;
    case "kept":
      return `${answer.jobId}: holds the unique key and stays; it is ${answer.state}.`;
    case "replaced":
      return `${answer.jobId}: was waiting, and has been changed.`;
    case "conflict":
      return `${answer.jobId}: holds the unique key and is ${answer.state}; nothing was enqueued.`;
  }
}
