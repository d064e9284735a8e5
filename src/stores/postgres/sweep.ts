/** What runs beside a claim when it is due: brings times right, and ends the lapsed jobs that cannot run again. */

import type { Clock } from "../../clock/world.ts";
import { endLapsed, lapse } from "../../protocol/claim.ts";
import { type JobId, jobLine } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import { releasedLease } from "../../protocol/named-lease.ts";
import { claimNote, lapseNote } from "../run-notes.ts";
import type { ClaimRequest } from "../store.ts";
import type { Call, Connections } from "./connections.ts";
import { note } from "./journal.ts";
import { readMomentToRaise } from "./moment.ts";
import type { OrderSweep } from "./order-sweep.ts";
import type { Sql } from "./statements.ts";
import type { StoreTime } from "./store-time.ts";
import { lockLease, lockUnlocked, saveFreedLease, saveJob } from "./transition.ts";
import type { WalkPace } from "./walk-pace.ts";

/** How many rows of the line one sweep looks at. The next one goes on behind them, so each is reached in its turn. */
const ROWS_A_SWEEP = 2_000;
/** How many jobs without a future one sweep ends. */
const ENDS_A_SWEEP = 100;
/** How many named leases, and how many waited-for resources, one sweep looks at. */
const LEASES_A_SWEEP = 500;
const RESOURCES_A_SWEEP = 200;
/** How many delayed rows one claim promotes; the next goes on. */
const PROMOTED_AT_ONCE = 1_000;

/** Where a piece of a line ended. */
interface Place<Line> {
  readonly line: Line;
  readonly priority: number;
  readonly seq: number;
}

const START: Place<number> = { line: 0, priority: -(2 ** 31), seq: 0 };
const FIRST_RESOURCE: Place<string> = { line: "", priority: -(2 ** 31), seq: 0 };

function parametersOf({ line, priority, seq }: Place<number | string>): unknown[] {
  return [line, priority, seq];
}

interface Swept {
  readonly job_id: JobId | null;
  readonly queue: number | null;
  readonly resource: string | null;
  readonly priority: number;
  readonly seq: number;
}

export class Sweep {
  /**
   * The last claim that could has taken a lapsed job over. Whoever dies leaves many, of which a worker takes one at a time
   * (W8): the next must not wait for the next sweep (I16).
   */
  followsLapse = false;
  readonly #clock: Clock;
  readonly #pace: WalkPace;
  readonly #time: StoreTime;
  #lastMs = Number.NEGATIVE_INFINITY;
  #lastPromotionMs = Number.NEGATIVE_INFINITY;
  #isPutOff = false;
  #running: Promise<boolean> | undefined;
  #ended: JobRecord[] = [];
  #ready = START;
  #waiting = FIRST_RESOURCE;
  #lease = "";
  #resource = "";
  readonly #order: OrderSweep;

  constructor(clock: Clock, pace: WalkPace, time: StoreTime, order: OrderSweep) {
    this.#order = order;
    this.#clock = clock;
    this.#pace = pace;
    this.#time = time;
  }

  /** With an interval of 0 each claim sweeps, and waits for it. */
  get isAwaited(): boolean {
    return this.#pace.everyMs === 0;
  }

  /**
   * Whether a claim is to sweep: all of it, or where nothing may be taken over what promotes alone. One that is due is put
   * off once, for a claim that finds jobs without it.
   */
  isDue(takeover: boolean): "now" | "if nothing is found" | "no" {
    const sinceMs = this.#clock.monotonicMs() - (takeover ? this.#lastMs : this.#lastPromotionMs);
    if (sinceMs < this.#pace.intervalMs) return "no";
    if (this.isAwaited || this.#isPutOff) return "now";
    this.#isPutOff = true;
    return "if nothing is found";
  }

  /**
   * Begins it, unless it is under way. It runs beside the claim, on connections of its own.
   *
   * @returns whether something may have become claimable, or was ended. Whoever waits is told of errors; the next one goes
   *   on where this one stopped.
   */
  begin(connections: Connections, call: Call, request: ClaimRequest): Promise<boolean> {
    // One under way may only promote: then this one stays due.
    if (this.#running !== undefined) return this.#running;
    this.#isPutOff = false;
    this.#lastPromotionMs = this.#clock.monotonicMs();
    if (request.takeover) this.#lastMs = this.#lastPromotionMs;
    this.#running = this.#run(connections, call, request).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** The jobs that were ended since it was last asked (C12, C13). */
  takeEnded(): JobRecord[] {
    return this.#ended.splice(0);
  }

  async #run(connections: Connections, call: Call, request: ClaimRequest): Promise<boolean> {
    const sql = connections.on(call);
    const promoted = await promote(sql);
    if (!request.takeover) return promoted > 0;
    const doomed = await this.#lookAtJobs(sql);
    const ended =
      doomed.length === 0
        ? []
        : await connections.transaction(call, (tx) => endAll(tx, doomed.slice(0, ENDS_A_SWEEP)));
    this.#ended.push(...ended);
    const [lease] = await sql.rows<{ name: string | null }>("sweep leases", [this.#lease, LEASES_A_SWEEP]);
    this.#lease = lease?.name ?? "";
    const [waiting] = await sql.rows<{ resource: string | null; freed: number }>("free waiting", [
      this.#resource,
      RESOURCES_A_SWEEP,
      request.queues,
    ]);
    this.#resource = waiting?.resource ?? "";
    const letGo = await this.#order.run(connections, call);
    return letGo || promoted + ended.length + (waiting?.freed ?? 0) > 0;
  }

  async #lookAtJobs(sql: Sql): Promise<JobId[]> {
    const rows = await sql.rows<Swept>("sweep jobs", [
      ...parametersOf(this.#ready),
      ROWS_A_SWEEP,
      ...parametersOf(this.#waiting),
      this.#time.estimateMs,
    ]);
    const doomed = rows.flatMap(({ job_id }) => (job_id === null ? [] : [job_id]));
    // What is left to be ended here is met again: the places are kept.
    if (doomed.length > ENDS_A_SWEEP) return doomed;
    this.#ready = START;
    this.#waiting = FIRST_RESOURCE;
    for (const { queue, resource, priority, seq } of rows) {
      if (queue !== null) this.#ready = { line: queue, priority, seq };
      if (resource !== null) this.#waiting = { line: resource, priority, seq };
    }
    return doomed;
  }
}

export async function promote(sql: Sql): Promise<number> {
  const promoted = await sql.rows<{ resource: string | null }>("promote due", [PROMOTED_AT_ONCE]);
  const resources = new Set(promoted.map(({ resource }) => resource));
  resources.delete(null);
  if (resources.size > 0) await sql.rows("let next have each", [[...resources]]);
  return promoted.length;
}

async function endAll(sql: Sql, ids: readonly JobId[]): Promise<JobRecord[]> {
  const jobs = await lockUnlocked(sql, ids);
  const moment = await readMomentToRaise(sql);
  const ended: JobRecord[] = [];
  for (const job of jobs.values()) {
    if (lapse(job, moment.nowMs) !== "end") continue;
    const lease = await lockLease(sql, job.resource);
    const after = endLapsed(job, moment.nowMs, moment.floor);
    await note(sql, jobLine(job.jobId), [...claimNote(job), ...lapseNote(job)]);
    await saveJob(sql, job, after);
    if (lease !== undefined && lease.heldFor === job.jobId && lease.generation === job.resourceGeneration) {
      await saveFreedLease(sql, releasedLease(lease), moment.nowMs);
    }
    ended.push(after);
  }
  return ended;
}
