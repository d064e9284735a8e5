import type { FencingToken, JobId, Owner } from "../../src/protocol/identity.ts";
import { brokenBy, type Transition } from "../../src/protocol/invariants.ts";
import { isEnded } from "../../src/protocol/job.ts";
import { isSlotOf } from "../../src/protocol/limit.ts";
import type { Claimed } from "../../src/stores/store.ts";
import type { Behind } from "./enqueueing.ts";
import { FailedRenewals } from "./failed-renewals.ts";
import { grantOf, transitionsOf } from "./observed-store.ts";
import type { Primary } from "./primary.ts";
import type { SimProcess } from "./sim-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface Seen {
  reclaims: number;
  refusedRenewals: number;
  lateCompletions: number;
  lateEnds: number;
  explained: number;
  freed: number;
}

/** What part of its lease must be left for a failed renewal to be sent again: more than the margin, and a tick or two. */
const TIME_TO_ASK_AGAIN = 1 / 3;

/** Looks at each change of each primary, as soon as it is made. */
export class Judge {
  readonly broken: string[] = [];
  readonly grants: FencingToken[] = [];
  readonly seen: Seen = {
    reclaims: 0,
    refusedRenewals: 0,
    lateCompletions: 0,
    lateEnds: 0,
    explained: 0,
    freed: 0,
  };
  /** Which process each owner is. */
  readonly owners = new Map<Owner, SimProcess>();
  /** Runs whose lease may lapse whatever their process does: it has not heard of them, was told to stop, or was refused. */
  readonly heard = new Set<string>();
  readonly given = new Set<string>();
  readonly failedRenewals = new FailedRenewals();
  /** Whom jobs wait for, by what their enqueuer said. */
  readonly behind = new Map<JobId, Behind>();
  /** Owners whose worker has been stopped, and has said so. */
  readonly #stopped = new Set<Owner>();
  /** True time until which what befell the store itself may still show. */
  #storeTroubledUntilMs = Number.NEGATIVE_INFINITY;
  readonly #time: VirtualTime;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Something befell the store now, and goes on for so many ms. */
  storeInTrouble(ms: number): void {
    this.#storeTroubledUntilMs = Math.max(this.#storeTroubledUntilMs, this.#time.nowMs + ms);
  }

  stopped(owner: Owner): void {
    this.#stopped.add(owner);
  }

  /** W6: a worker that has stopped asks the store for nothing any more. */
  asks(owner: Owner, method: string): void {
    if (this.#stopped.has(owner)) this.broken.push(`W6: a worker that had stopped sent a ${method}`);
  }

  /** @returns whether the call has written anything */
  look(primary: Primary, method: string, args: readonly unknown[], value: unknown, nowMs: number): boolean {
    this.#count(method, args, value);
    const { transitions, hasChanged } = transitionsOf(primary, method, args, nowMs);
    for (const transition of transitions) {
      const { operation } = transition;
      this.broken.push(...brokenBy(transition));
      const grant = grantOf(transition);
      if (grant !== undefined) this.grants.push(grant);
      if (operation === "claim") this.#claim(primary, transition);
      primary.note(transition, primary.at + 1);
    }
    if (method === "claim") this.#limits(primary, value as Claimed | undefined, nowMs);
    return hasChanged;
  }

  #count(method: string, args: readonly unknown[], value: unknown): void {
    if ((method !== "renew" && method !== "settle") || value === undefined) return;
    (value as readonly { readonly outcome: string }[]).forEach(({ outcome }, n) => {
      if (outcome !== "stale") return;
      if (method === "renew") this.seen.refusedRenewals++;
      else this.seen.lateEnds++;
      const settlement = (args[0] as readonly { readonly operation?: string }[])[n];
      if (settlement?.operation === "complete") this.seen.lateCompletions++;
    });
  }

  #claim(primary: Primary, transition: Transition): void {
    const { before, after, nowMs } = transition;
    if (before === undefined || after === undefined) return;
    const { jobId } = after;
    if (after.resource !== null) this.#resource(primary, after.resource, jobId, nowMs);
    if (before.owner !== null) {
      this.seen.reclaims++;
      this.#explain(transition);
    }
    if (before.generation === 0) this.#order(primary, jobId);
  }

  /** One run at a time for each resource, as long as its lease has not lapsed by the store's clock. */
  #resource(primary: Primary, resource: string, jobId: JobId, nowMs: number): void {
    const holder = primary.holders.get(resource);
    if (holder === undefined || holder.jobId === jobId) return;
    const is = primary.memory.peek().jobs.get(holder.jobId);
    const holds = is?.state === "leased" && is.generation === holder.generation;
    if (holds && (is.leaseUntilMs ?? 0) > nowMs)
      this.broken.push(`jobs ${holder.jobId} and ${jobId} hold ${resource} at once`);
  }

  /**
   * I17: a process that nothing befell renews: whose lease lapses was frozen or dead, or cut off during the lease, or has
   * never heard of it, or has given the run up. Otherwise nobody knows why the two overlap.
   */
  #explain({ before, nowMs }: Transition): void {
    if (before?.owner == null) return;
    // A lapsed lease waits for whoever claims next: what counts is the time for which it was held.
    const lapsedForMs = nowMs - (before.leaseUntilMs ?? nowMs);
    const owner = this.owners.get(before.owner);
    const run = runName(before.jobId, before.owner, before.generation);
    const sinceMs = this.#time.nowMs - lapsedForMs - before.leaseMs;
    const isWell =
      owner !== undefined &&
      !owner.isDead &&
      this.#storeTroubledUntilMs < sinceMs &&
      !this.#stopped.has(before.owner) &&
      this.heard.has(run) &&
      !this.given.has(run);
    if (isWell && owner.troubledUntilMs < sinceMs)
      this.broken.push(`I17: nothing befell ${owner.name}, and its lease of job ${before.jobId} lapsed`);
    else this.seen.explained++;
    // Messages that are lost explain a lapse of whoever went on asking.
    const failedAtMs = this.failedRenewals.failedAtMs(run) ?? Number.NaN;
    const leftMs = this.#time.nowMs - lapsedForMs - failedAtMs;
    if (isWell && leftMs > before.leaseMs * TIME_TO_ASK_AGAIN && owner.upsetUntilMs < sinceMs)
      this.broken.push(
        `W2: ${owner.name} asked no more for job ${before.jobId}, whose renewal had failed ${leftMs.toFixed(0)} ms before its lease lapsed`,
      );
  }

  /** A job that waits for others is claimed after they have ended, and by what its enqueuer said of their failure. */
  #order(primary: Primary, jobId: JobId): void {
    const behind = this.behind.get(jobId);
    if (behind === undefined) return;
    this.seen.freed++;
    for (const id of behind.ids) {
      const ends = primary.history.filter(
        ({ transition: { after } }) => after?.jobId === id && isEnded(after),
      );
      const isFree = ends.some(({ transition: { after } }) => behind.isAny || after?.state === "completed");
      if (!isFree) this.broken.push(`job ${jobId} was claimed before ${id}, for which it was to wait`);
    }
  }

  /** No more slots of a limited queue are held than it has. */
  #limits({ memory }: Primary, claimed: Claimed | undefined, nowMs: number): void {
    const { limits, leases } = memory.peek();
    if (limits.size === 0 || (claimed?.jobs.length ?? 0) === 0) return;
    for (const [queue, { limit }] of limits) {
      let held = 0;
      for (const lease of leases.values()) {
        if (isSlotOf(queue, lease) && (lease.leaseUntilMs ?? 0) > nowMs) held++;
      }
      if (limit.concurrency !== null && held > limit.concurrency)
        this.broken.push(`${held} slots of ${queue} are held, which has ${limit.concurrency}`);
    }
  }
}

export function runName(jobId: JobId, owner: string, generation: number): string {
  return `${jobId} ${owner} ${generation}`;
}
