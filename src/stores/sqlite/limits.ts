/** Limits of queues, asked and used up under the write lock of the claim. */

import type { Owner } from "../../protocol/identity.ts";
import {
  type Allowance,
  allowance,
  freeSlotNames,
  type QueueLimit,
  type Slot,
  type Starts,
  slotRange,
  withStarts,
} from "../../protocol/limit.ts";
import { acquire, type NamedLease, rebasedLease } from "../../protocol/named-lease.ts";
import { type LimitRow, limitFromRow } from "../limit-rows.ts";
import type { ClaimedJob } from "../store.ts";
import type { Moment } from "./moment.ts";
import { queueId } from "./queues.ts";
import { leaseFromRow } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { saveLease } from "./transition.ts";

export function limitQueue(statements: Statements, name: string, limit: QueueLimit | null): void {
  const queue = queueId(statements, name);
  if (limit === null) {
    statements.run("drop limit", { queue });
  } else {
    statements.run("save limit", {
      queue,
      concurrency: limit.concurrency,
      rate_count: limit.rate?.count ?? null,
      rate_per_ms: limit.rate?.perMs ?? null,
    });
  }
  statements.run("mark limited", { queue, limited: limit === null ? 0 : 1 });
}

/** What a claim may take from one queue with a limit. */
export class LimitedQueue {
  readonly #statements: Statements;
  readonly #queue: number;
  readonly #name: string;
  readonly #limit: QueueLimit;
  readonly #starts: Starts;
  readonly #slots: readonly NamedLease[];
  readonly #moment: Moment;

  constructor(statements: Statements, queue: number, name: string, moment: Moment) {
    this.#statements = statements;
    this.#queue = queue;
    this.#name = name;
    this.#moment = moment;
    const row = statements.get<LimitRow>("find limit", { queue });
    if (row === undefined) throw new Error(`Queue ${name} is marked as limited and has no limit`);
    this.#limit = limitFromRow(row);
    this.#starts = JSON.parse(row.starts) as Starts;
    this.#slots = this.#limit.concurrency === null ? [] : slotsOf(statements, name, moment.nowMs);
  }

  allows(wanted: number): Allowance {
    return allowance(this.#limit, this.#starts, this.#slots, wanted, this.#moment.nowMs);
  }

  /** Counts the jobs that were claimed, and gives each its slot. To be called once. */
  useUp(jobs: readonly ClaimedJob[], owner: Owner): ClaimedJob[] {
    const { nowMs } = this.#moment;
    const { rate, concurrency } = this.#limit;
    if (rate !== null && jobs.length > 0) {
      const starts = withStarts(this.#starts, rate, jobs.length, nowMs);
      this.#statements.run("save starts", { queue: this.#queue, starts: JSON.stringify(starts) });
    }
    if (concurrency === null) return [...jobs];
    const names = freeSlotNames(this.#name, this.#slots, jobs.length, nowMs);
    return jobs.map((claimed, n) => ({
      ...claimed,
      slot: this.#take(names[n] as string, owner, claimed.job.leaseMs),
    }));
  }

  #take(name: string, owner: Owner, leaseMs: number): Slot {
    const { nowMs, floor } = this.#moment;
    const known = this.#slots.find((slot) => slot.name === name);
    const slot = acquire(known, { name, owner, leaseMs, heldFor: null }, nowMs, floor);
    saveLease(this.#statements, slot, { claimedAtMs: nowMs, releasedAtMs: null });
    return { name, owner, generation: slot.generation };
  }
}

function slotsOf(statements: Statements, queue: string, nowMs: number): NamedLease[] {
  const [from, to] = slotRange(queue);
  return statements.all("slots", { from, to }).map((row) => rebasedLease(leaseFromRow(row), nowMs));
}
