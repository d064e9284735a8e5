/**
 * Which of a batch's jobs have ended. The store is asked about the batch's own ids: what worker processes report is for
 * the progress bar only, since they may be killed, or jobs may be run by workers of somebody else.
 */

import type { JobView } from "../../index.ts";
import type { JobId } from "../../protocol/identity.ts";
import { isEnded } from "../../protocol/job.ts";

export interface BatchJob {
  readonly jobId: JobId;
  /** Of its line in the input. */
  readonly line: number;
}

export interface Failure extends BatchJob {
  readonly job: JobView;
}

export interface Ended {
  completed: number;
  failed: number;
  cancelled: number;
  /** Deleted or pruned while the batch ran. */
  gone: number;
}

/** Ids asked about in one call. */
const CHUNK = 200;
/** Failures kept for the summary. */
const KEPT_FAILURES = 10;

export class Pending {
  readonly ended: Ended = { completed: 0, failed: 0, cancelled: 0, gone: 0 };
  readonly failures: Failure[] = [];
  readonly #get: (ids: readonly JobId[]) => Promise<readonly (JobView | undefined)[]>;
  readonly #known = new Set<JobId>();
  #waiting: BatchJob[] = [];

  constructor(get: (ids: readonly JobId[]) => Promise<readonly (JobView | undefined)[]>) {
    this.#get = get;
  }

  /** Two lines may be answered with one job (a unique key that is kept); it counts once. */
  add(jobs: readonly BatchJob[]): void {
    for (const job of jobs) {
      if (this.#known.has(job.jobId)) continue;
      this.#known.add(job.jobId);
      this.#waiting.push(job);
    }
  }

  get size(): number {
    return this.#waiting.length;
  }

  /**
   * Counts what has ended since the last look. It stops at the first chunk in which a job has not ended, and asks about
   * that one again the next time: so watching a long batch costs little more than reading it once.
   */
  look(): Promise<void> {
    return this.#look((left) => left === 0);
  }

  /** Once, for a batch that ends early. */
  lookAtAll(): Promise<void> {
    return this.#look(() => true);
  }

  async #look(goOn: (left: number) => boolean): Promise<void> {
    const left: BatchJob[] = [];
    let at = 0;
    while (at < this.#waiting.length && goOn(left.length)) {
      const chunk = this.#waiting.slice(at, at + CHUNK);
      const jobs = await this.#get(chunk.map(({ jobId }) => jobId));
      for (const [index, job] of chunk.entries()) {
        if (!this.#count(job, jobs[index])) left.push(job);
      }
      at += chunk.length;
    }
    this.#waiting = [...left, ...this.#waiting.slice(at)];
  }

  #count(job: BatchJob, record: JobView | undefined): boolean {
    if (record === undefined) {
      this.ended.gone += 1;
      return true;
    }
    if (!isEnded(record)) return false;
    this.ended[record.state as "completed" | "failed" | "cancelled"] += 1;
    if (record.state === "failed" && this.failures.length < KEPT_FAILURES)
      this.failures.push({ ...job, job: record });
    return true;
  }
}
