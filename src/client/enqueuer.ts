import { StoreBusyError, UnknownOutcomeError } from "../errors.ts";
import type { EnqueueAnswer, NewJob } from "../protocol/enqueue.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { checkPredecessors, StandIns } from "./predecessors.ts";

/** Rows and bytes of input in one call at most: a store holds its write lock for the whole of a call. */
const ROWS_PER_CALL = 1_000;
const BYTES_PER_CALL = 8_388_608;

interface Waiting {
  readonly job: NewJob;
  resolve(answer: EnqueueAnswer): void;
  reject(error: unknown): void;
}

/**
 * Hands jobs to the store. Single ones that are enqueued in the same turn share a call, and with it a transaction and
 * its fsync; a lone one waits for nothing, since the window is one microtask. What each caller hears is the same as if
 * it had been alone: when a shared call fails for sure, it is repeated job by job.
 *
 * A call without an answer (C11) is repeated once with the same ids, which makes it one job in any case.
 */
export class Enqueuer {
  readonly #store: Store;
  readonly #timeoutMs: number;
  #waiting: Waiting[] = [];

  constructor(store: Store, timeoutMs: number) {
    this.#store = store;
    this.#timeoutMs = timeoutMs;
  }

  one(job: NewJob): Promise<EnqueueAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject });
      if (this.#waiting.length === 1) queueMicrotask(() => this.#flush());
    });
  }

  /** With `tx`, in the caller's transaction; without, one transaction for each call that the jobs fill. */
  async many(jobs: readonly NewJob[], tx?: Transaction): Promise<EnqueueAnswer[]> {
    const answers: EnqueueAnswer[] = [];
    const calls = [...chunks(jobs, (job) => job)];
    if (calls.length > 1 && tx === undefined) await checkPredecessors(this.#store, jobs, this.#timeoutMs);
    const standIns = new StandIns();
    for (const chunk of calls) {
      const sent = standIns.resolve(chunk);
      const told = tx === undefined ? await this.#known(sent) : await this.#send(sent, tx);
      standIns.note(sent, told);
      answers.push(...told);
    }
    return answers;
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const chunk of chunks(waiting, ({ job }) => job)) void this.#share(chunk);
  }

  async #share(waiting: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.#known(waiting.map(({ job }) => job));
      for (const [i, { resolve }] of waiting.entries()) resolve(answers[i] as EnqueueAnswer);
    } catch (error) {
      const shared = waiting.length > 1;
      const maybeOneBadRow = !(error instanceof UnknownOutcomeError || error instanceof StoreBusyError);
      if (shared && maybeOneBadRow) for (const one of waiting) await this.#share([one]);
      else for (const { reject } of waiting) reject(error);
    }
  }

  async #known(jobs: readonly NewJob[]): Promise<readonly EnqueueAnswer[]> {
    let unknown: UnknownOutcomeError;
    try {
      return await this.#send(jobs);
    } catch (error) {
      if (!(error instanceof UnknownOutcomeError)) throw error;
      unknown = error;
    }
    const repeated = jobs.map((job) => ({ ...job, mayRepeat: true }));
    // Whatever the repeat is told, that it wrote nothing says nothing of the first call.
    const answers = await this.#send(repeated).catch(() => {
      throw unknown;
    });
    return answers.map((answer, i) => {
      // A fresh id that is already there is there by our own first call.
      const own = answer.outcome === "repeated" && jobs[i]?.mayRepeat === false;
      return own ? { outcome: "enqueued", jobId: answer.jobId } : answer;
    });
  }

  #send(jobs: readonly NewJob[], tx?: Transaction): Promise<readonly EnqueueAnswer[]> {
    const timeoutMs = this.#timeoutMs;
    return this.#store.enqueue(jobs, tx === undefined ? { timeoutMs } : { timeoutMs, tx });
  }
}

function* chunks<Item>(items: readonly Item[], jobOf: (item: Item) => NewJob): Generator<readonly Item[]> {
  let start = 0;
  let bytes = 0;
  for (const [i, item] of items.entries()) {
    bytes += jobOf(item).input.length;
    if (i > start && (i - start >= ROWS_PER_CALL || bytes > BYTES_PER_CALL)) {
      yield items.slice(start, i);
      start = i;
      bytes = jobOf(item).input.length;
    }
  }
  if (start < items.length) yield items.slice(start);
}
