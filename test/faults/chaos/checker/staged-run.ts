/**
 * A run without processes: the memory store in the middle, an audit of what each call changed, and histories written as the
 * harness's are. Time passes only here, so that what a record must show is decided to the millisecond.
 */

import { admit, type Mark } from "../../../../src/protocol/destination-rule.ts";
import type { NewJob } from "../../../../src/protocol/enqueue.ts";
import type { Fence, FencingToken, JobId, Line, Owner } from "../../../../src/protocol/identity.ts";
import { isEnded, tokenOf } from "../../../../src/protocol/job.ts";
import type { Settlement } from "../../../../src/protocol/settle.ts";
import { memory } from "../../../../src/stores/memory/index.ts";
import type { AuditEntry, DestinationEntry, HistoryEvent } from "../record.ts";
import { rowOf } from "./staged-rows.ts";

export const WALL_AHEAD_MS = 1_800_000_000_000;
export const LEASE_MS = 400;
const CALL = { timeoutMs: 1_000 };
const timers = { after: () => ({ cancel() {} }), nextTurn() {}, sleep: async () => {} };

/** A process as histories name it. */
export interface Actor {
  readonly process: string;
  readonly incarnation: number;
  readonly owner: Owner;
}

/** What a worker has of a job. */
export interface Held {
  readonly fence: Fence;
  readonly token: FencingToken;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class StagedRun {
  atMs = 1_000;
  readonly history: Mutable<HistoryEvent>[] = [];
  readonly audit: Mutable<AuditEntry>[] = [];
  readonly decisions: Mutable<DestinationEntry>[] = [];
  readonly #store = memory({ nowMs: () => WALL_AHEAD_MS + Math.floor(this.atMs), timers });
  readonly #marks = new Map<string, Mark>();
  readonly #answers = new Map<string, string>();
  #request = 0;
  #ids = 0;

  event(
    actor: Pick<Actor, "process" | "incarnation">,
    rest: Omit<HistoryEvent, "atMs" | "process" | "incarnation">,
  ): void {
    const { process, incarnation } = actor;
    this.history.push({ atMs: this.atMs, process, incarnation, ...rest });
  }

  note(actor: Actor, op: string, held?: Held, detail?: Record<string, unknown>): void {
    const about = held === undefined ? {} : ofFence(held.fence);
    this.event(actor, { kind: "note", op, ...about, ...(detail === undefined ? {} : { detail }) });
  }

  fault(kind: "invoke" | "ok", op: string, target: string, detail: Record<string, unknown> = {}): void {
    this.event({ process: "nemesis", incarnation: 1 }, { kind, op, target, detail });
  }

  newId(): JobId {
    return `0198c5a4-6b1e-7c3a-9a51-${(++this.#ids).toString().padStart(12, "0")}` as JobId;
  }

  /** Of a client's call or, without a history, of a schedule's. */
  async enqueue(client: Actor | undefined, job: Partial<NewJob> = {}): Promise<JobId> {
    const jobId = job.jobId ?? this.newId();
    const whole: NewJob = {
      jobId,
      mayRepeat: false,
      name: "work",
      queue: "chaos",
      priority: 0,
      due: { delayMs: 0 },
      leaseMs: LEASE_MS,
      maxAttempts: 5,
      maxRunMs: null,
      backoff: null,
      resource: null,
      unique: null,
      input: "{}",
      ...job,
    };
    const ask = (): Promise<unknown> => this.#changing(() => this.#store.enqueue([whole], CALL));
    if (client === undefined) await ask();
    else await this.call(client, "enqueue", { job: jobId }, ask, () => ({ outcome: "enqueued" }));
    return jobId;
  }

  async claim(actor: Actor): Promise<Held> {
    const { owner } = actor;
    const request = { owner, queues: ["chaos"], limit: 1, takeover: true };
    const number = ++this.#request;
    this.event(actor, { kind: "invoke", op: "claim", request: number, owner });
    this.atMs += 1;
    const { jobs } = await this.#changing(() => this.#store.claim(request as never, CALL));
    this.atMs += 1;
    const [claimed] = jobs;
    if (claimed === undefined) throw new Error("There was nothing to claim");
    const { job } = claimed;
    const token = tokenOf(job);
    const fence = { jobId: job.jobId, owner, generation: job.generation };
    this.event(actor, { kind: "ok", op: "claim", request: number, ...ofFence(fence) });
    return { fence, token };
  }

  renew(actor: Actor, { fence }: Held): Promise<void> {
    const ask = (): Promise<readonly unknown[]> => this.#changing(() => this.#store.renew([fence], CALL));
    return this.call(actor, "renew", ofFence(fence), ask, ([answer]) => answer as Answer);
  }

  /** `isHeard`: else the caller never learns what became of it. */
  settle(actor: Actor, { fence }: Held, operation: "complete" | "fail", isHeard = true): Promise<void> {
    const settlement: Settlement =
      operation === "complete"
        ? { operation, fence, result: null }
        : { operation, fence, error: "{}", retryInMs: 0 };
    const ask = (): Promise<readonly unknown[]> =>
      this.#changing(() => this.#store.settle([settlement], CALL));
    const asked = { ...ofFence(fence), outcome: operation };
    return this.call(actor, "settle", asked, ask, ([answer]) => (isHeard ? (answer as Answer) : undefined));
  }

  operate(actor: Actor, op: "cancel" | "revoke", job: JobId): Promise<void> {
    const ask = (): Promise<readonly unknown[]> => this.#changing(() => this.#store[op]([job], CALL));
    return this.call(actor, op, { job }, ask, ([answer]) => answer as Answer);
  }

  /** The look at the deadline, then the effect; `between` happens between the two. */
  async write(
    actor: Actor,
    held: Held,
    step: string,
    destination = "http",
    between = async () => {},
  ): Promise<void> {
    const { fence, token } = held;
    const key = `job:${fence.jobId}/1/${step}`;
    const about = { job: fence.jobId as string, ...token, key, destination };
    const asked = { ...about, detail: { jobGeneration: fence.generation } };
    this.event(actor, { kind: "note", op: "check", ...asked });
    await between();
    const decide = async (): Promise<Answer> => ({ outcome: this.#decide(about, destination) });
    await this.call(actor, "write", asked, decide, (answer) => answer);
  }

  /** `answerOf`: undefined when it gets lost. */
  async call<T>(
    actor: Actor,
    op: string,
    about: Partial<HistoryEvent>,
    ask: () => Promise<T>,
    answerOf: (answer: T) => Answer | undefined,
  ): Promise<void> {
    const request = ++this.#request;
    const { outcome: _, ...of } = about;
    this.event(actor, { kind: "invoke", op, request, ...about });
    this.atMs += 1;
    const answer = answerOf(await ask());
    this.atMs += 1;
    const { outcome, ...detail } = answer ?? {};
    const isRefused = outcome === "stale" || outcome === "gone" || outcome === "conflict";
    const kind = answer === undefined ? "info" : isRefused ? "fail" : "ok";
    this.event(actor, { kind, op, request, ...of, ...(outcome === undefined ? {} : { outcome }), detail });
  }

  #decide(
    about: { job: string; line: Line; generation: number; owner: Owner; key: string },
    destination: string,
  ): string {
    const { line, owner, key } = about;
    const generation = about.generation as Mark["generation"];
    const at = `${destination} ${line}`;
    const isBlind = destination === "blind";
    const { admitted } = isBlind ? { admitted: true } : admit(this.#marks.get(at), { generation, owner });
    if (admitted) this.#marks.set(at, { generation, owner });
    const first = isBlind ? undefined : this.#answers.get(`${destination} ${key}`);
    const decision = !admitted ? "stale" : first === undefined ? "applied" : "duplicate";
    const answer = admitted ? (first ?? `by ${generation}`) : "";
    if (admitted) this.#answers.set(`${destination} ${key}`, answer);
    const seq = this.decisions.length + 1;
    this.decisions.push({ ...about, seq, destination, atMs: this.atMs, decision, answer });
    return decision;
  }

  /** What a call has changed, as triggers would have it: an end is a row that leaves and one that arrives. */
  async #changing<T>(change: () => Promise<T>): Promise<T> {
    const before = this.#store.snapshot();
    const answer = await change();
    const after = this.#store.snapshot();
    for (const [job, record] of after.jobs) {
      const was = before.jobs.get(job);
      if (was === record) continue;
      const old = was === undefined || isEnded(was) ? null : rowOf(was);
      const ended = isEnded(record);
      this.#audited(job, old, ended ? null : rowOf(record), null, before.floor.epoch);
      if (ended) this.#audited(job, null, null, rowOf(record), before.floor.epoch);
    }
    return answer;
  }

  #audited(
    job: string,
    was: AuditEntry["was"],
    is: AuditEntry["is"],
    ended: AuditEntry["ended"],
    epoch: number,
  ): void {
    const storeMs = WALL_AHEAD_MS + Math.floor(this.atMs);
    this.audit.push({ seq: this.audit.length + 1, job, was, is, ended, storeMs, epoch, timeline: 0 });
  }
}

type Answer = { readonly outcome?: string };

function ofFence({ jobId, owner, generation }: Fence): Partial<HistoryEvent> {
  return { job: jobId, line: `job:${jobId}`, owner, generation };
}
