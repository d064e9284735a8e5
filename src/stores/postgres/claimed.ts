/**
 * The answers of `claim` and `claim ready`, taken apart by the place of each column: they come by hundreds, and rows as
 * objects with names would cost more than everything else that a worker does for a job.
 */

import type { Previous } from "../../protocol/claim.ts";
import { type Generation, generation, type JobId, type Owner } from "../../protocol/identity.ts";
import { type JobRecord, type SettleOperation, tokenOf } from "../../protocol/job.ts";
import type { Backoff } from "../../protocol/retry.ts";
import type { ClaimedJob } from "../store.ts";

/** What the first row tells of the claim as a whole. */
export interface WholeClaim {
  /** Store time, ms. */
  readonly now: number;
  readonly historyChanged: boolean;
  readonly nextRunAt: number | null;
  /** The plain statement met a job with a resource, and claimed nothing. */
  readonly resources: boolean;
  /** Of the queues asked, those that were passed over: with a limit of their own, or, asked for such, without. */
  readonly limited: readonly string[] | null;
  /** How many candidates had to be sent to wait. */
  readonly waits: number;
  /** Id, name, and how many candidates were found, of each queue that had some. */
  readonly queues: readonly (readonly [number, string, number])[];
  /** How long the server looked, ms, by its clock; its commit comes after that. */
  readonly tookMs: number;
}

/** The columns of both statements, in their order. */
type Tuple = readonly [
  jobId: JobId,
  numbers: string,
  name: string,
  resource: string | null,
  uniqueKey: string | null,
  backoff: string | null,
  input: string,
  error: string | null,
  progress: string | null,
  settledOwner: Owner | null,
  settledOperation: SettleOperation | null,
  previousOwner: Owner | null,
];

const INPUT = 6;

/** Where in `numbers` each stands; the two of a previous owner come last. */
const NUMBERS = {
  seq: 0,
  queue: 1,
  priority: 2,
  leaseMs: 3,
  generation: 4,
  attempt: 5,
  maxAttempts: 6,
  expiredCount: 7,
  run: 8,
  heals: 9,
  resourceGeneration: 10,
  maxRunMs: 11,
  createdAtMs: 12,
  settledGeneration: 13,
  previousGeneration: 14,
  previousUntilMs: 15,
} as const;

const [COMMA, CLOSE, MINUS, ZERO, NINE] = [44, 125, 45, 48, 57];

/** Reads `{1,-2,NULL}` digit by digit: no other text is made of it. NULL becomes NaN. */
function numbersOf(array: string): number[] {
  const numbers: number[] = [];
  let number = 0;
  let sign = 1;
  for (let i = 1; i < array.length; i++) {
    const letter = array.charCodeAt(i);
    if (letter >= ZERO && letter <= NINE) {
      number = number * 10 + letter - ZERO;
    } else if (letter === COMMA || letter === CLOSE) {
      numbers.push(sign * number);
      number = 0;
      sign = 1;
    } else if (letter === MINUS) {
      sign = -1;
    } else {
      number = Number.NaN;
    }
  }
  return numbers;
}

function orNull<T extends number>(value: number | undefined): T | null {
  return value === undefined || Number.isNaN(value) ? null : (value as T);
}

export function claimFromTuple(first: readonly unknown[]): WholeClaim {
  const whole = JSON.parse(first[INPUT] as string) as WholeClaim & { queues: WholeClaim["queues"] | null };
  return whole.queues === null ? { ...whole, queues: [] } : whole;
}

export function claimedFromTuple(
  tuple: readonly unknown[],
  owner: Owner,
  nowMs: number,
  queues: ReadonlyMap<number, string>,
): ClaimedJob {
  const row = tuple as Tuple;
  const numbers = numbersOf(row[1]);
  const at = (place: keyof typeof NUMBERS): number => numbers[NUMBERS[place]] as number;
  const settledOwner = row[9];
  const previousOwner = row[11];
  const job: JobRecord & { readonly owner: Owner } = {
    jobId: row[0],
    seq: at("seq"),
    name: row[2],
    queue: queues.get(at("queue")) as string,
    priority: at("priority"),
    state: "leased",
    runAtMs: null,
    owner,
    leaseUntilMs: nowMs + at("leaseMs"),
    leaseMs: at("leaseMs"),
    generation: generation(at("generation")),
    raisedBy: "claim",
    attempt: at("attempt"),
    maxAttempts: at("maxAttempts"),
    expiredCount: at("expiredCount"),
    run: at("run"),
    heals: at("heals"),
    cancelRequested: false,
    resource: row[3],
    resourceGeneration: orNull<Generation>(at("resourceGeneration")),
    uniqueKey: row[4],
    blockedBy: 0,
    maxRunMs: orNull(at("maxRunMs")),
    backoff: row[5] === null ? null : (JSON.parse(row[5]) as Backoff),
    input: row[6],
    result: null,
    error: row[7],
    progress: row[8],
    createdAtMs: at("createdAtMs"),
    claimedAtMs: nowMs,
    finishedAtMs: null,
    endReason: null,
    settled:
      settledOwner === null
        ? null
        : {
            owner: settledOwner,
            generation: at("settledGeneration") as Generation,
            operation: row[10] as SettleOperation,
          },
  };
  const previous: Previous | undefined =
    previousOwner === null
      ? undefined
      : {
          owner: previousOwner,
          generation: generation(at("previousGeneration")),
          endedAgoMs: nowMs - at("previousUntilMs"),
        };
  return { job, token: tokenOf(job), previous };
}
