import { newRecord } from "../../src/protocol/enqueue.ts";
import {
  type Fence,
  type Generation,
  generation,
  type JobId,
  type Owner,
} from "../../src/protocol/identity.ts";
import type { JobRecord } from "../../src/protocol/job.ts";
import type { NamedLease } from "../../src/protocol/named-lease.ts";
import { LEASE_MS, NOW_MS, newHistoryJob } from "./histories.ts";

export { LEASE_MS, NOW_MS };
export const A = "A" as Owner;
export const B = "B" as Owner;
export const ID = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11" as JobId;
export const RESOURCE = "account:42";

export const gen = (value: number): Generation => generation(value);

/** A ready job that nobody has claimed. */
export function readyJob(change: Partial<JobRecord> = {}): JobRecord {
  return { ...newRecord(newHistoryJob(ID, "letters", null), 1, NOW_MS), ...change };
}

/** A job that A holds with generation 1. */
export function leasedJob(change: Partial<JobRecord> = {}): JobRecord {
  return readyJob({
    state: "leased",
    owner: A,
    leaseUntilMs: NOW_MS + LEASE_MS,
    generation: gen(1),
    raisedBy: "claim",
    attempt: 1,
    claimedAtMs: NOW_MS,
    ...change,
  });
}

/** The named lease that A's run of that job holds. */
export function heldLease(change: Partial<NamedLease> = {}): NamedLease {
  return {
    name: RESOURCE,
    owner: A,
    leaseUntilMs: NOW_MS + LEASE_MS,
    leaseMs: LEASE_MS,
    generation: gen(5),
    heldFor: ID,
    lastOwner: A,
    heals: 0,
    ...change,
  };
}

export function fence(change: Partial<Fence> = {}): Fence {
  return { jobId: ID, owner: A, generation: gen(1), ...change };
}
