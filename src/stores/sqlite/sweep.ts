/** What a claim does first when it is due: lays lapsed leases open, and ends the jobs that cannot run again. */

import type { Clock } from "../../clock/world.ts";
import { endLapsed } from "../../protocol/claim.ts";
import { jobLine } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import { isFree, releasedLease } from "../../protocol/named-lease.ts";
import { claimNote, lapseNote } from "../run-notes.ts";
import { freeUnfreed } from "./departures.ts";
import { note } from "./journal.ts";
import type { Moment } from "./moment.ts";
import { jobFromRow } from "./rows.ts";
import type { Row, Statements } from "./statements.ts";
import { findLease, letNextHave, saveFreedLease, saveJob } from "./transition.ts";

/** How many rows one sweep moves at the most. They leave the leased rows, so that the next one goes on behind them. */
const ROWS_A_SWEEP = 1_000;
/** How many waited-for resources one sweep looks at. */
const RESOURCES_A_SWEEP = 200;

export class Sweep {
  readonly #clock: Clock;
  readonly #everyMs: number;
  #lastMs: number | undefined;
  /** The waited-for resource at which the last sweep stopped. */
  #resource = "";

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** Whether it is time, and there is anything to do; looks only, so that an idle worker takes no write lock. */
  isDue(statements: Statements): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#lastMs !== undefined && nowMs - this.#lastMs < this.#everyMs) return false;
    this.#lastMs = nowMs;
    return statements.get<{ some: number }>("anything to sweep")?.some === 1;
  }

  /** Returns the jobs that it ended (C12, C13). */
  run(statements: Statements, queues: readonly string[], moment: Moment): JobRecord[] {
    const { nowMs } = moment;
    statements.run("rebase leases that start in the future", { now: nowMs });
    statements.run("rebase the laid open", { now: nowMs });
    statements.run("rebase named leases", { now: nowMs });
    const ended = statements
      .all<{ seq: number }>("lapsed without a future", { now: nowMs, limit: ROWS_A_SWEEP })
      .map(({ seq }) => end(statements, seq, moment));
    statements.run("lay open the lapsed", { now: nowMs, limit: ROWS_A_SWEEP });
    this.#freeWaiting(statements, queues, nowMs);
    freeUnfreed(statements, nowMs);
    return ended;
  }

  /**
   * Whoever gives a resource up lets the next job have it. This finds the ones for which nobody did: a lapsed lease,
   * or a next job that went away or waits in a queue of others, who may not come.
   */
  #freeWaiting(statements: Statements, queues: readonly string[], nowMs: number): void {
    for (let looked = 0; looked < RESOURCES_A_SWEEP; looked++) {
      const next = statements.get<{ resource: string }>("next waited-for resource", {
        after: this.#resource,
      });
      this.#resource = next?.resource ?? "";
      if (next === undefined) return;
      freeWaiting(statements, next.resource, queues, nowMs);
    }
  }
}

/** Lets the first that waits for `resource` into the line, unless it is held or the claimer of `queues` will meet one. */
export function freeWaiting(
  statements: Statements,
  resource: string,
  queues: readonly string[],
  nowMs: number,
): void {
  if (!isFree(findLease(statements, resource), nowMs)) return;
  const inLine = statements.get("resource in line", { resource, queues: JSON.stringify(queues) });
  if (inLine === undefined) letNextHave(statements, resource);
}

function end(statements: Statements, seq: number, moment: Moment): JobRecord {
  const job = jobFromRow(statements.get("find job by seq", { seq }) as Row);
  const ended = endLapsed(job, moment.nowMs, moment.floor);
  note(statements, jobLine(job.jobId), [...claimNote(job), ...lapseNote(job)]);
  saveJob(statements, job, ended);
  const lease = findLease(statements, job.resource);
  if (lease !== undefined && lease.heldFor === job.jobId && lease.generation === job.resourceGeneration) {
    saveFreedLease(statements, releasedLease(lease), moment.nowMs);
  }
  return ended;
}
