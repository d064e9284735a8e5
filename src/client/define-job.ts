import type { StandardSchemaV1 } from "@standard-schema/spec";
import { InvalidArgumentError } from "../errors.ts";
import type { OnConflict } from "../protocol/enqueue.ts";
import type { Backoff } from "../protocol/retry.ts";
import { checkBackoff, DEFAULT_BACKOFF } from "../protocol/retry.ts";
import { checkLeaseMs } from "../protocol/trust.ts";
import type { RunContext } from "./handler.ts";
import { checkFunction, checkKnown } from "./known-options.ts";
import { checkCount, checkName, checkPriority } from "./names.ts";

/**
 * At most one live job per (job name, key); what becomes of a second one (C17). Default `keep`. With `followUp` it is
 * blocked until the live one has ended; a third one changes it: the newest input wins.
 */
export interface UniqueKey {
  readonly key: string;
  readonly onConflict?: OnConflict;
}

export interface JobDefaults {
  /** The queue that its jobs go to. Default: the job's name. */
  readonly queue?: string;
  /** For how long a worker owns a job before it must renew, ms from 250. Default 30,000. */
  readonly leaseMs?: number;
  /** How many runs a job gets before it has failed, crashed ones counted. Default 10. */
  readonly maxAttempts?: number;
  /** The longest that one run may take, ms; then its signal fires and, after the grace, its lease lapses. Default: no limit. */
  readonly maxRunMs?: number;
  /** Delays between attempts. Default: exponential from 1 s, at most 1 h, full jitter. */
  readonly backoff?: Partial<Backoff>;
  /** Lower runs first. Default 0. */
  readonly priority?: number;
}

/** What `defineJob` takes; `Parsed` is the input after its schema, `Returned` the result before its own. */
export interface JobSpec<Parsed, Returned> extends JobDefaults {
  /** 1 to 255 bytes. Its jobs are found by it for as long as they live, so it outlasts renamed functions and files. */
  readonly name: string;
  /**
   * `process`: the handler runs in a process of its own, taken from the worker's pool, which is terminated when the
   * handler ignores its signal for the worker's `graceMs` (W4), and whose death is one failed attempt and nobody
   * else's. Needs `module`. Default: in the worker's process.
   */
  readonly isolation?: "process";
  /**
   * The module that exports this definition: `import.meta.url`. Each isolated process imports it, so it must not do
   * the program's work when imported. With it given, a suspect (W8) is isolated even without `isolation`.
   */
  readonly module?: string;
  /** What the job shares with others: jobs that name the same resource run one at a time, with one order of tokens. */
  resource?(input: Parsed): string | undefined;
  unique?(input: Parsed): UniqueKey | undefined;
  /**
   * Does the work. It may run more than once, and two runs may overlap for a while: give effects their fencing token.
   * Whatever it throws is a failed attempt; throw a `FinalError` to make it the last.
   */
  run(context: RunContext<Parsed>): Promise<Returned> | Returned;
}

declare const types: unique symbol;
const MARK: unique symbol = Symbol.for("leasehold.job");

/** A kind of job: made by `defineJob`, known by its name. `Input` is what `enqueue` takes, `Result` what `result` gives. */
export interface JobDefinition<Input = unknown, Result = unknown> {
  readonly name: string;
  readonly queue: string;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly maxRunMs: number | undefined;
  readonly backoff: Backoff;
  readonly priority: number;
  readonly isolation: "process" | undefined;
  readonly module: string | undefined;
  readonly input: StandardSchemaV1 | undefined;
  readonly result: StandardSchemaV1 | undefined;
  resource?(input: unknown): string | undefined;
  unique?(input: unknown): UniqueKey | undefined;
  run(context: RunContext): unknown;
  /** For the compiler only. */
  readonly [types]?: { readonly input: Input; readonly result: Result };
}

const JOB_SPEC = new Set([
  "name",
  "input",
  "result",
  "queue",
  "leaseMs",
  "maxAttempts",
  "maxRunMs",
  "backoff",
  "priority",
  "isolation",
  "module",
  "resource",
  "unique",
  "run",
]);

type In<Schema extends StandardSchemaV1> = StandardSchemaV1.InferInput<Schema>;
type Out<Schema extends StandardSchemaV1> = StandardSchemaV1.InferOutput<Schema>;

/**
 * Defines a kind of job. With schemas (zod, valibot, arktype, any Standard Schema) the types come from them, and values
 * are checked when enqueued, when claimed and when returned. What is stored is the input as it was given; `run` gets
 * what the schema makes of it. Without a schema the input's type is the one written at `run`'s parameter, as in
 * `run({ input }: RunContext<{ path: string }>)`, and nothing checks it.
 *
 * @throws {InvalidArgumentError} naming the option that cannot be used
 */
export function defineJob<Input extends StandardSchemaV1, Result extends StandardSchemaV1>(
  spec: JobSpec<Out<Input>, In<Result>> & { readonly input: Input; readonly result: Result },
): JobDefinition<In<Input>, Out<Result>>;
export function defineJob<Input extends StandardSchemaV1, Result>(
  spec: JobSpec<Out<Input>, Result> & { readonly input: Input; readonly result?: undefined },
): JobDefinition<In<Input>, Result>;
export function defineJob<Input, Result extends StandardSchemaV1>(
  spec: JobSpec<Input, In<Result>> & { readonly input?: undefined; readonly result: Result },
): JobDefinition<Input, Out<Result>>;
export function defineJob<Input, Result>(
  spec: JobSpec<Input, Result> & { readonly input?: undefined; readonly result?: undefined },
): JobDefinition<Input, Result>;
export function defineJob(
  spec: JobSpec<never, unknown> & {
    readonly input?: StandardSchemaV1 | undefined;
    readonly result?: StandardSchemaV1 | undefined;
  },
): JobDefinition {
  checkKnown("defineJob", spec, JOB_SPEC);
  const { name, queue = name, leaseMs = 30_000, maxAttempts = 10, maxRunMs, priority = 0 } = spec;
  const backoff = { ...DEFAULT_BACKOFF, ...spec.backoff };
  checkName("name", name);
  checkFunction("run", spec.run);
  checkName("queue", queue);
  checkLeaseMs(leaseMs);
  checkCount("maxAttempts", maxAttempts);
  if (maxRunMs !== undefined) checkCount("maxRunMs", maxRunMs);
  checkPriority(priority);
  checkBackoff(backoff);
  checkIsolation(spec);
  const definition = {
    ...spec,
    queue,
    leaseMs,
    maxAttempts,
    maxRunMs,
    backoff,
    priority,
    isolation: spec.isolation,
    module: spec.module,
    input: spec.input,
    result: spec.result,
    run: (context: RunContext) => spec.run(context as RunContext<never>),
    [MARK]: true,
  };
  return Object.freeze(definition) as unknown as JobDefinition;
}

function checkIsolation({ isolation, module }: Pick<JobSpec<never, unknown>, "isolation" | "module">): void {
  if (isolation !== undefined && isolation !== "process")
    throw new InvalidArgumentError("isolation", isolation, `"process", or leave it out`);
  const expected = "import.meta.url, in the file that exports the job";
  if (isolation !== undefined && module === undefined)
    throw new InvalidArgumentError("module", module, expected);
  if (module === undefined) return;
  if (typeof module !== "string" || !module.startsWith("file:") || !URL.canParse(module))
    throw new InvalidArgumentError("module", module, expected);
}

/** Whether `value` was made by `defineJob`, also by that of another copy of this package. */
export function isJobDefinition(value: unknown): value is JobDefinition {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[MARK] === true;
}
