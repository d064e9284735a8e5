/** All that a memory store knows: the records of the protocol core, by name. */

import type { FloorState } from "../../protocol/floor.ts";
import { epochStart, floorOf } from "../../protocol/floor.ts";
import { type Generation, generation, type JobId, type Line } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import type { QueueLimit, Starts } from "../../protocol/limit.ts";
import type { NamedLease } from "../../protocol/named-lease.ts";
import type { StepRecord } from "../../protocol/step.ts";
import { draftOfOrder, emptyOrder, type OrderState, onChange } from "./order.ts";
import type { KeptSchedule } from "./schedules.ts";

export interface MemoryState {
  /** Live and ended alike. Records are replaced, never changed in place. */
  readonly jobs: Map<JobId, JobRecord>;
  /** Of all runs of a job. */
  readonly steps: Map<JobId, readonly StepRecord[]>;
  readonly leases: Map<string, NamedLease>;
  /** When a named lease was last given up, in store time; for pruning. */
  readonly leaseIdleSinceMs: Map<string, number>;
  readonly journal: Map<Line, readonly JournalEntry[]>;
  readonly paused: Set<string>;
  readonly limits: Map<string, LimitState>;
  readonly schedules: Map<string, KeptSchedule>;
  /** What callers wrote in their own transactions. */
  readonly values: Map<string, unknown>;
  readonly order: OrderState;
  floor: FloorState;
  nextSeq: number;
}

/** A queue's limit, and what it has to remember. Replaced, never changed in place. */
export interface LimitState {
  readonly limit: QueueLimit;
  readonly starts: Starts;
}

export function emptyState(): MemoryState {
  return {
    jobs: new Map(),
    steps: new Map(),
    leases: new Map(),
    leaseIdleSinceMs: new Map(),
    journal: new Map(),
    paused: new Set(),
    limits: new Map(),
    schedules: new Map(),
    values: new Map(),
    order: emptyOrder(),
    floor: { epoch: 0, deletedGeneration: generation(0) },
    nextSeq: 1,
  };
}

/** A state that can be written without the first one noticing: what a transaction works on. */
export function draftOf(state: MemoryState): MemoryState {
  return {
    jobs: new Map(state.jobs),
    steps: new Map(state.steps),
    leases: new Map(state.leases),
    leaseIdleSinceMs: new Map(state.leaseIdleSinceMs),
    journal: new Map(state.journal),
    paused: new Set(state.paused),
    limits: new Map(state.limits),
    schedules: new Map(state.schedules),
    values: new Map(state.values),
    order: draftOfOrder(state.order),
    floor: state.floor,
    nextSeq: state.nextSeq,
  };
}

/** One write on the store: the state it changes, and the store's time, read once (T1). */
export interface Moment {
  readonly state: MemoryState;
  readonly nowMs: number;
}

export function floorAt({ state }: Moment): Generation {
  return floorOf(state.floor);
}

export function epochStartAt({ state }: Moment): Generation {
  return epochStart(state.floor);
}

/** What is deleted leaves its generation in the floor. */
export function raiseDeletedGeneration({ state }: Pick<Moment, "state">, deleted: Generation): void {
  const deletedGeneration = generation(Math.max(state.floor.deletedGeneration, deleted));
  state.floor = { ...state.floor, deletedGeneration };
}

/** The named lease that a job's runs hold, if there is one. */
export function leaseOf({ state }: Moment, job: JobRecord): NamedLease | undefined {
  return job.resource === null ? undefined : state.leases.get(job.resource);
}

/** The one way to write a job, so that whoever waits for it hears of its end. */
export function putJob(at: Moment, job: JobRecord): void {
  const before = at.state.jobs.get(job.jobId);
  at.state.jobs.set(job.jobId, job);
  onChange(at, before, job);
}

export function dropJob(at: Moment, id: JobId): void {
  const before = at.state.jobs.get(id);
  at.state.jobs.delete(id);
  onChange(at, before, undefined);
}

export function putLease({ state, nowMs }: Moment, lease: NamedLease): void {
  state.leases.set(lease.name, lease);
  if (lease.owner === null) state.leaseIdleSinceMs.set(lease.name, nowMs);
  else state.leaseIdleSinceMs.delete(lease.name);
}
