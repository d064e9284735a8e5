import type { World } from "../clock/world.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { OnFailure } from "../protocol/blocking.ts";
import type { NewJob, OnConflict } from "../protocol/enqueue.ts";
import { type JobId, jobId } from "../protocol/identity.ts";
import { type Backoff, checkBackoff } from "../protocol/retry.ts";
import { storableJson } from "../protocol/storable.ts";
import { checkLeaseMs } from "../protocol/trust.ts";
import { isJobDefinition, type JobDefinition, type UniqueKey } from "./define-job.ts";
import type { JobRef } from "./enqueued.ts";
import { checkCount, checkDelayMs, checkLeaseName, checkName, checkPriority, momentMs } from "./names.ts";
import { afterOf } from "./ordering.ts";
import { parsed } from "./schema.ts";

/** What one enqueued job may have of its own; the rest is its definition's. */
export interface JobOptions {
  /** A UUID that the caller derives, so that a repeated call is one job. Default: a new one. */
  readonly jobId?: string;
  readonly queue?: string;
  /** Lower runs first. */
  readonly priority?: number;
  /** Due after so many ms of the store's clock. Not together with `runAt`. */
  readonly delayMs?: number;
  /** Due at this moment of the store's clock: a Date, or ms since 1970. */
  readonly runAt?: Date | number;
  readonly leaseMs?: number;
  readonly maxAttempts?: number;
  readonly maxRunMs?: number;
  readonly backoff?: Partial<Backoff>;
  /** Instead of what the definition's `resource` says. */
  readonly resource?: string;
  /** Instead of what the definition's `unique` says. */
  readonly unique?: UniqueKey;
  /** It is claimed once these have ended, by what `onFailure` says. They are there already, or come earlier in the call. */
  readonly after?: JobRef | readonly JobRef[];
  /**
   * Required with `after`: when one of those fails or is cancelled, this job fails, too (`"fail"`, with the end reason
   * `dependency`), runs all the same (`"run"`), or stays until a retry of that one has completed (`"wait"`).
   */
  readonly onFailure?: OnFailure;
}

export const JOB_OPTIONS: ReadonlySet<string> = new Set([
  "jobId",
  "queue",
  "priority",
  "delayMs",
  "runAt",
  "leaseMs",
  "maxAttempts",
  "maxRunMs",
  "backoff",
  "resource",
  "unique",
  "after",
  "onFailure",
]);

const CONFLICTS: readonly OnConflict[] = ["keep", "throw", "replace", "followUp"];

/**
 * The job as the store takes it; a promise only when its schema answers with one. `root` is what error messages call
 * the input.
 *
 * @throws {InvalidArgumentError | SchemaMismatchError | UnstorableValueError} nothing was written
 */
export function newJob(
  definition: JobDefinition,
  given: unknown,
  options: JobOptions,
  world: World,
  maxBytes: number,
  root = "input",
): NewJob | Promise<NewJob> {
  // A bare undefined is stored as null, so null is what the schema is asked about, now and at the claim.
  if (!isJobDefinition(definition))
    throw new InvalidArgumentError("job", definition, "what defineJob() returned");
  const input = given === undefined ? null : given;
  const text = storableJson(input, root, maxBytes);
  if (definition.input === undefined) return assembled(definition, text, input, options, world);
  const value = parsed(definition.input, input, definition.name, "input");
  return value instanceof Promise
    ? value.then((late) => assembled(definition, text, late, options, world))
    : assembled(definition, text, value, options, world);
}

function assembled(
  definition: JobDefinition,
  input: string,
  value: unknown,
  options: JobOptions,
  world: World,
): NewJob {
  const { queue = definition.queue, priority = definition.priority } = options;
  const { leaseMs = definition.leaseMs, maxAttempts = definition.maxAttempts } = options;
  const maxRunMs = options.maxRunMs ?? definition.maxRunMs ?? null;
  const resource = options.resource ?? definition.resource?.(value) ?? null;
  const wanted = options.unique ?? definition.unique?.(value);
  const unique = wanted === undefined ? null : uniqueOf(wanted);

  if (options.queue !== undefined) checkName("queue", queue);
  if (options.priority !== undefined) checkPriority(priority);
  if (options.leaseMs !== undefined) checkLeaseMs(leaseMs);
  if (options.maxAttempts !== undefined) checkCount("maxAttempts", maxAttempts);
  if (options.maxRunMs !== undefined) checkCount("maxRunMs", options.maxRunMs);
  if (resource !== null) checkLeaseName("resource", resource);

  return {
    jobId: options.jobId === undefined ? world.ids.jobId() : jobId(options.jobId),
    mayRepeat: options.jobId !== undefined,
    name: definition.name,
    queue,
    priority,
    due: dueOf(options, world),
    leaseMs,
    maxAttempts,
    maxRunMs,
    backoff: options.backoff === undefined ? null : backoffOf(definition, options.backoff),
    resource,
    unique,
    input,
    after: afterOf(options, unique),
  };
}

const AT_ONCE = { delayMs: 0 } as const;

function dueOf(options: JobOptions, world: World): NewJob["due"] {
  const { delayMs, runAt } = options;
  if (runAt !== undefined) {
    if (delayMs !== undefined)
      throw new InvalidArgumentError("delayMs", delayMs, "either delayMs or runAt, not both");
    return { runAtMs: momentMs("runAt", runAt) };
  }
  if (delayMs === undefined) return AT_ONCE;
  checkDelayMs("delayMs", delayMs, world.clock.wallMs());
  return { delayMs: Math.ceil(delayMs) };
}

function backoffOf(definition: JobDefinition, own: Partial<Backoff>): Backoff {
  const backoff = { ...definition.backoff, ...own };
  checkBackoff(backoff);
  return backoff;
}

function uniqueOf({ key, onConflict = "keep" }: UniqueKey): NonNullable<NewJob["unique"]> {
  checkName("unique.key", key);
  if (!CONFLICTS.includes(onConflict)) {
    throw new InvalidArgumentError(
      "unique.onConflict",
      onConflict,
      `"keep", "throw", "replace" or "followUp"`,
    );
  }
  return { key, onConflict };
}

/** Ids as a caller gives them: of a job, an answer of `enqueue`, or a text. */
export function idOf(given: string | { readonly jobId: JobId }): JobId {
  return jobId(typeof given === "string" ? given : given?.jobId);
}
