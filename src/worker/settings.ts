import type { JobDefinition } from "../client/define-job.ts";
import { isJobDefinition } from "../client/define-job.ts";
import { checkKnown } from "../client/known-options.ts";
import { checkCount, checkName } from "../client/names.ts";
import { InvalidArgumentError } from "../errors.ts";

export interface IsolationOptions {
  /** How long a process waits for its next run before it is ended, ms. Default 30,000. */
  readonly idleMs?: number;
  /** Options of Node for the processes, as in `["--max-old-space-size=512"]`. Default: the worker's, without its inspector's. */
  readonly execArgv?: readonly string[];
}

export interface WorkerOptions {
  /** How many handlers run at once. Default 10. */
  readonly concurrency?: number;
  /** Which queues are claimed. Default: those of the jobs given. */
  readonly queues?: readonly string[];
  /**
   * How long handlers may go on after `stop()`, ms; and how long after its signal one is called stuck. Default 25,000.
   */
  readonly graceMs?: number;
  /** The first wait when nothing is due, ms; it grows to 2,000, and a wake-up ends it. Default 50. */
  readonly pollMs?: number;
  /**
   * `thread` (default): leases are renewed from a thread with its own connection, which a blocked loop does not stop.
   * `inline`: on the main loop; also what is done where no thread can be had, and then said once.
   */
  readonly renewer?: "thread" | "inline";
  /** With the main loop silent for longer, ms, the thread lets all leases lapse: the process hangs. Default 60,000. */
  readonly maxBlockedMs?: number;
  /** The processes of isolated jobs. There are at most `concurrency` of them. */
  readonly isolation?: IsolationOptions;
  /** Whether it enqueues the due slots of the store's schedules, of whichever jobs. Default true; a drain never does. */
  readonly schedules?: boolean;
}

export interface WorkerSettings extends Required<Omit<WorkerOptions, "isolation">> {
  readonly isolation: { readonly idleMs: number; readonly execArgv: readonly string[] | undefined };
  readonly callTimeoutMs: number;
  readonly maxResultBytes: number;
}

const WORKER_OPTIONS = new Set([
  "concurrency",
  "queues",
  "graceMs",
  "pollMs",
  "renewer",
  "maxBlockedMs",
  "isolation",
  "schedules",
  "signal", // of a drain
]);

const ISOLATION_OPTIONS = new Set(["idleMs", "execArgv"]);

export const DEFAULT_MAX_BLOCKED_MS = 60_000;

/** @throws {InvalidArgumentError} naming the option that cannot be used */
export function workerSettings(
  jobs: ReadonlyMap<string, JobDefinition>,
  options: WorkerOptions,
  shared: { readonly callTimeoutMs: number; readonly maxResultBytes: number },
): WorkerSettings {
  checkKnown("options", options, WORKER_OPTIONS);
  const settings: WorkerSettings = {
    concurrency: options.concurrency ?? 10,
    queues: options.queues ?? [...new Set([...jobs.values()].map(({ queue }) => queue))],
    graceMs: options.graceMs ?? 25_000,
    pollMs: options.pollMs ?? 50,
    renewer: options.renewer ?? "thread",
    maxBlockedMs: options.maxBlockedMs ?? DEFAULT_MAX_BLOCKED_MS,
    isolation: isolationSettings(options.isolation ?? {}),
    schedules: options.schedules ?? true,
    ...shared,
  };
  checkCount("concurrency", settings.concurrency);
  checkCount("pollMs", settings.pollMs);
  checkCount("maxBlockedMs", settings.maxBlockedMs);
  checkGraceMs(settings.graceMs);
  if (settings.queues.length === 0)
    throw new InvalidArgumentError("queues", settings.queues, "at least one queue");
  for (const queue of settings.queues) checkName("queues", queue);
  if (settings.renewer !== "thread" && settings.renewer !== "inline") {
    throw new InvalidArgumentError("renewer", settings.renewer, `"thread" or "inline"`);
  }
  if (typeof settings.schedules !== "boolean")
    throw new InvalidArgumentError("schedules", settings.schedules, "true or false");
  return settings;
}

function isolationSettings(options: IsolationOptions): WorkerSettings["isolation"] {
  checkKnown("isolation", options, ISOLATION_OPTIONS);
  const { idleMs = 30_000, execArgv } = options;
  checkCount("isolation.idleMs", idleMs);
  const isList = Array.isArray(execArgv) && execArgv.every((option) => typeof option === "string");
  if (execArgv !== undefined && !isList)
    throw new InvalidArgumentError(
      "isolation.execArgv",
      execArgv,
      `texts, as in ["--max-old-space-size=512"]`,
    );
  return { idleMs, execArgv };
}

/** @throws {InvalidArgumentError} unless it is a finite length of time of 0 or more */
export function checkGraceMs(graceMs: number): void {
  if (!(graceMs >= 0 && Number.isFinite(graceMs))) {
    throw new InvalidArgumentError("graceMs", graceMs, "milliseconds from 0 up");
  }
}

/** The definitions by name. @throws {InvalidArgumentError} for none, for two of one name, or for something else */
export function jobsByName(jobs: readonly JobDefinition[]): ReadonlyMap<string, JobDefinition> {
  if (!Array.isArray(jobs))
    throw new InvalidArgumentError("jobs", jobs, "an array of jobs, as in [sendMail]");
  const byName = new Map<string, JobDefinition>();
  for (const job of jobs) {
    if (!isJobDefinition(job)) throw new InvalidArgumentError("jobs", job, "what defineJob() returned");
    const other = byName.get(job.name);
    if (other !== undefined && other !== job) {
      throw new InvalidArgumentError(
        "jobs",
        job.name,
        "jobs of different names: two definitions share this one",
      );
    }
    byName.set(job.name, job);
  }
  if (byName.size === 0) throw new InvalidArgumentError("jobs", jobs, "at least one job");
  return byName;
}
