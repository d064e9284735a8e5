import type { Timer, World } from "../clock/world.ts";
import { GoneError, JobNotCompletedError, WaitTimeoutError } from "../errors.ts";
import type { JobId } from "../protocol/identity.ts";
import { isEnded } from "../protocol/job.ts";
import type { Store } from "../stores/store.ts";
import { asError, jobView } from "./job-view.ts";

const FIRST_LOOK_MS = 10;
const LONGEST_WAIT_MS = 500;
const IDS_PER_CALL = 500;

interface Waiter {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * Waits for jobs to end. All waiters of a client share one poll, which grows from 10 to 500 ms; a job that ends in this
 * process is looked at once.
 */
export class Results {
  readonly #world: World;
  readonly #store: Store;
  readonly #timeoutMs: number;
  readonly #waiters = new Map<JobId, Set<Waiter>>();
  #waitMs = FIRST_LOOK_MS;
  #timer: Timer | undefined;
  #looking = false;
  /** Somebody came during a look: look again at once. */
  #again = false;

  constructor(world: World, store: Store, timeoutMs: number) {
    this.#world = world;
    this.#store = store;
    this.#timeoutMs = timeoutMs;
  }

  async wait(id: JobId, limitMs: number | undefined, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    let giveUp!: (error: unknown) => void;
    const ended = new Promise<unknown>((resolve, reject) => {
      giveUp = reject;
      const waiters = this.#waiters.get(id) ?? new Set();
      this.#waiters.set(id, waiters.add({ resolve, reject }));
    });
    const limit =
      limitMs === undefined
        ? undefined
        : this.#world.timers.after(limitMs, () => giveUp(new WaitTimeoutError(`Job ${id}`, limitMs)));
    const aborted = (): void => giveUp(signal?.reason);
    signal?.addEventListener("abort", aborted, { once: true });
    this.#waitMs = FIRST_LOOK_MS;
    void this.#look();
    try {
      return await ended;
    } finally {
      limit?.cancel();
      signal?.removeEventListener("abort", aborted);
      this.#forget(id, giveUp);
    }
  }

  /** The job has ended in this process. */
  ended(id: JobId): void {
    if (this.#waiters.size > 0 && this.#waiters.has(id)) void this.#look();
  }

  close(error: unknown): void {
    this.#timer?.cancel();
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error);
  }

  async #look(): Promise<void> {
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    this.#again = false;
    this.#timer?.cancel();
    const ids = [...this.#waiters.keys()];
    try {
      for (let start = 0; start < ids.length; start += IDS_PER_CALL) {
        await this.#lookAt(ids.slice(start, start + IDS_PER_CALL));
      }
    } catch {
      // Out of reach or busy: the next look may find it; the waiters' own limits hold.
    }
    this.#looking = false;
    if (this.#waiters.size === 0) return;
    if (this.#again) {
      this.#world.timers.nextTurn(() => void this.#look());
      return;
    }
    this.#timer = this.#world.timers.after(this.#waitMs, () => void this.#look());
    this.#waitMs = Math.min(this.#waitMs * 1.5, LONGEST_WAIT_MS);
  }

  async #lookAt(ids: readonly JobId[]): Promise<void> {
    const records = await this.#store.get(ids, { timeoutMs: this.#timeoutMs });
    for (const [i, id] of ids.entries()) {
      const record = records[i];
      if (record !== undefined && !isEnded(record)) continue;
      const waiters = this.#waiters.get(id) ?? new Set();
      this.#waiters.delete(id);
      const view = record === undefined ? undefined : jobView(record);
      for (const waiter of waiters) {
        if (view === undefined) waiter.reject(new GoneError(`Job ${id}`));
        else if (view.state === "completed") waiter.resolve(view.result);
        else
          waiter.reject(new JobNotCompletedError(id, view.state, view.endReason ?? "", asError(view.error)));
      }
    }
  }

  #forget(id: JobId, reject: (error: unknown) => void): void {
    const waiters = this.#waiters.get(id);
    if (waiters === undefined) return;
    for (const waiter of waiters) if (waiter.reject === reject) waiters.delete(waiter);
    if (waiters.size > 0) return;
    this.#waiters.delete(id);
    if (this.#waiters.size === 0) this.#timer?.cancel();
  }
}
