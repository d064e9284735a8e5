/** Jobs, owners and short forms of the calls, shared by the chapters. */

import assert from "node:assert/strict";
import { systemWorld } from "../../clock/system.ts";
import type { NewJob } from "../../protocol/enqueue.ts";
import {
  type Fence,
  type Generation,
  generation,
  type JobId,
  jobLine,
  type Owner,
} from "../../protocol/identity.ts";
import type { JobRecord, SettleOperation } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import type { Settlement } from "../../protocol/settle.ts";
import type { CallOptions, Claimed, ClaimedJob, ClaimRequest, Store } from "../../stores/store.ts";
import type { TestWorld } from "./harness.ts";

/** Longer than any call takes, so that only a call that hangs ever meets it. */
export const OPTIONS: CallOptions = { timeoutMs: 15_000 };

/** Longer than any test takes, so that a lease lapses only when a test says so. */
export const LEASE_MS = 120_000;

/** Moves a fresh lease to half a minute after its end. */
export const LAPSE_MS: number = LEASE_MS + 30_000;

export const QUEUE = "letters";

const { ids } = systemWorld();

export const newId = (): JobId => ids.jobId();
export const newOwner = (): Owner => ids.owner();

export function newJob(change: Partial<NewJob> = {}): NewJob {
  return {
    jobId: newId(),
    mayRepeat: false,
    name: "send-letter",
    queue: QUEUE,
    priority: 0,
    due: { delayMs: 0 },
    leaseMs: LEASE_MS,
    maxAttempts: 5,
    maxRunMs: null,
    backoff: null,
    resource: null,
    unique: null,
    input: '{"to":"Ada"}',
    ...change,
  };
}

type Has = Pick<TestWorld, "store">;

/** Enqueues one job and answers its id. */
export async function enqueued({ store }: Has, change: Partial<NewJob> = {}): Promise<JobId> {
  const job = newJob(change);
  const answers = await store.enqueue([job], OPTIONS);
  assert.deepEqual(answers, [{ outcome: "enqueued", jobId: job.jobId }]);
  return job.jobId;
}

/** Enqueues several in one call, and answers their ids in order. */
export async function enqueuedMany({ store }: Has, changes: readonly Partial<NewJob>[]): Promise<JobId[]> {
  const jobs = changes.map((change) => newJob(change));
  const answers = await store.enqueue(jobs, OPTIONS);
  assert.ok(answers.every(({ outcome }) => outcome === "enqueued"));
  return jobs.map(({ jobId }) => jobId);
}

export function claim({ store }: Has, owner: Owner, request: Partial<ClaimRequest> = {}): Promise<Claimed> {
  return store.claim({ owner, queues: [QUEUE], limit: 10, takeover: true, ...request }, OPTIONS);
}

export const claimedIds = (claimed: Claimed): JobId[] => claimed.jobs.map(({ job }) => job.jobId);

/** The only job that a claim found. */
export async function claimOne(
  world: Has,
  owner: Owner,
  request: Partial<ClaimRequest> = {},
): Promise<ClaimedJob> {
  const { jobs } = await claim(world, owner, request);
  assert.equal(jobs.length, 1, `one job is claimed, not ${jobs.length}`);
  return jobs[0] as ClaimedJob;
}

export function fenceOf({ job }: ClaimedJob): Fence {
  return { jobId: job.jobId, owner: job.owner, generation: job.generation };
}

/** A new job, claimed. */
export async function leased(
  world: Has,
  change: Partial<NewJob> = {},
  owner: Owner = newOwner(),
): Promise<Fence> {
  const jobId = await enqueued(world, change);
  const claimed = await claimOne(world, owner, { queues: [change.queue ?? QUEUE] });
  assert.equal(claimed.job.jobId, jobId);
  return fenceOf(claimed);
}

/** A job whose lease lapsed under A and that B has claimed since. */
export async function reclaimed(
  world: TestWorld,
  change: Partial<NewJob> = {},
  a: Owner = newOwner(),
  b: Owner = newOwner(),
): Promise<{ readonly a: Fence; readonly b: Fence }> {
  const first = await leased(world, change, a);
  await world.lapse(first.jobId, LAPSE_MS);
  if (typeof change.resource === "string") await world.lapse(change.resource, LAPSE_MS);
  return { a: first, b: fenceOf(await claimOne(world, b, { queues: [change.queue ?? QUEUE] })) };
}

export function complete(fence: Fence, result: string | null = null): Settlement {
  return { operation: "complete", fence, result };
}

export function fail(
  fence: Fence,
  retryInMs: number | "final" = 0,
  error = '{"message":"no stamp"}',
): Settlement {
  return { operation: "fail", fence, error, retryInMs };
}

export function release(fence: Fence, delayMs = 0): Settlement {
  return { operation: "release", fence, delayMs };
}

export function settlement(operation: SettleOperation, fence: Fence): Settlement {
  return operation === "complete" ? complete(fence) : operation === "fail" ? fail(fence) : release(fence);
}

/** Settles one run, which must be applied. */
export async function settled({ store }: Has, member: Settlement): Promise<void> {
  const [answer] = await store.settle([member], OPTIONS);
  assert.equal(answer?.outcome, "applied", `${member.operation} is applied`);
}

/** The record of a job that must exist. */
export async function row({ store }: Has, id: JobId): Promise<JobRecord> {
  const [job] = await store.get([id], OPTIONS);
  assert.ok(job, `job ${id} exists`);
  return job;
}

export async function journalOf({ store }: Has, id: JobId): Promise<readonly JournalEntry[]> {
  return store.journal(jobLine(id), OPTIONS);
}

export const gen = (value: number): Generation => generation(value);

/** A member that must be there. */
export function nth<T>(list: readonly T[], index: number): T {
  assert.ok(index < list.length, `there is a member ${index} among ${list.length}`);
  return list[index] as T;
}

/** For answers with members that are not the matter of the test. */
export function assertHas<T extends object>(
  actual: T | undefined,
  expected: Partial<Record<string, unknown>>,
): void {
  assert.ok(actual !== undefined, "there is an answer");
  const found: Record<string, unknown> = {};
  for (const key of Object.keys(expected)) found[key] = (actual as Record<string, unknown>)[key];
  assert.deepEqual(found, expected);
}

/** The hook, or a failure that says what is missing. */
export function required<T>(hook: T | undefined, name: string): T {
  assert.ok(
    hook !== undefined,
    `the harness has no \`${name}\`: give it one, or list this test among the gaps`,
  );
  return hook;
}

/** Whether `value`, in store time, lies `expectedMs` after the store time at which `act` ran. */
export async function assertAfterNow(
  world: TestWorld,
  expectedMs: number,
  act: () => Promise<number | null | undefined>,
): Promise<void> {
  const beforeMs = await world.store.nowMs(OPTIONS);
  const value = await act();
  const afterMs = await world.store.nowMs(OPTIONS);
  assert.ok(typeof value === "number", "there is a time");
  const slackMs = world.timePrecisionMs;
  assert.ok(
    value >= beforeMs + expectedMs - slackMs && value <= afterMs + expectedMs + slackMs,
    `${value} lies ${expectedMs} ms after the call, which was from ${beforeMs} to ${afterMs}`,
  );
}

/** Every handle on the data that this test may have: what two workers of one machine hold. */
export async function twoHandles(world: TestWorld): Promise<readonly [Store, Store]> {
  return [world.store, await world.another()];
}
