import type { Log } from "../client/log.ts";
import type { World } from "../clock/world.ts";
import type { RunWrite, Store } from "../stores/store.ts";
import type { Run } from "./run.ts";

/** Writes in one call, and lines that may wait; beyond that the oldest lines are dropped, and the log says so. */
const WRITES_PER_CALL = 500;
const MAX_WAITING = 10_000;

interface Waiting {
  readonly run: Run;
  write: RunWrite;
}

/**
 * Hands progress and log lines to the store in batches, one call at a time: what comes up meanwhile waits for the next,
 * and of several progress values of one run only the latest is sent. They are for people: a write that the store did not
 * take is dropped, but a refusal tells the run that its lease is lost.
 */
export class RunWriter {
  readonly #world: World;
  readonly #store: Store;
  readonly #timeoutMs: number;
  readonly #log: Log;
  #waiting: Waiting[] = [];
  /** The waiting progress of each run that has some. */
  readonly #progress = new Map<Run, Waiting>();
  readonly #pending = new Map<Run, number>();
  #scheduled = false;
  #quiet: (() => void)[] = [];

  constructor(world: World, store: Store, timeoutMs: number, log: Log) {
    this.#world = world;
    this.#store = store;
    this.#timeoutMs = timeoutMs;
    this.#log = log;
  }

  progress(run: Run, json: string): void {
    const write: RunWrite = { fence: run.fence, progress: json };
    const waiting = this.#progress.get(run);
    if (waiting !== undefined) waiting.write = write;
    else this.#add(run, write);
  }

  log(run: Run, text: string): void {
    this.#add(run, { fence: run.fence, log: text });
  }

  isBusyWith(run: Run): boolean {
    return this.#pending.size > 0 && this.#pending.has(run);
  }

  /** Resolves when nothing of the run is waiting or under way: its outcome must not overtake what it wrote. */
  async quiet(run: Run): Promise<void> {
    while (this.isBusyWith(run)) await new Promise<void>((resolve) => this.#quiet.push(resolve));
  }

  #add(run: Run, write: RunWrite): void {
    if (run.phase !== "running" || run.completed || run.refusal !== undefined) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.#log({
        level: "warning",
        kind: "writes_dropped",
        message: `more than ${MAX_WAITING} log lines were waiting`,
      });
      return;
    }
    const waiting = { run, write };
    this.#waiting.push(waiting);
    if ("progress" in write) this.#progress.set(run, waiting);
    this.#pending.set(run, (this.#pending.get(run) ?? 0) + 1);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#world.timers.nextTurn(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.slice(0, WRITES_PER_CALL);
    this.#waiting = this.#waiting.slice(WRITES_PER_CALL);
    for (const { run, write } of batch) if ("progress" in write) this.#progress.delete(run);
    try {
      const answers = await this.#store.write(
        batch.map(({ write }) => write),
        { timeoutMs: this.#timeoutMs },
      );
      for (const [i, { run }] of batch.entries()) {
        const answer = answers[i];
        if (answer?.outcome === "stale" || answer?.outcome === "gone") run.refused(answer);
      }
    } catch (error) {
      const message = `${batch.length} progress values or log lines were not written`;
      this.#log({ level: "warning", kind: "writes_dropped", message, error });
    }
    for (const { run } of batch) {
      const left = (this.#pending.get(run) ?? 0) - 1;
      if (left > 0) this.#pending.set(run, left);
      else this.#pending.delete(run);
    }
    this.#scheduled = false;
    const told = this.#quiet;
    this.#quiet = [];
    for (const resolve of told) resolve();
    if (this.#waiting.length > 0) this.#schedule();
  }
}
