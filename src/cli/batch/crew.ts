/** The worker processes of a batch: started, replaced when one dies, and stopped together. */

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Timer, Timers } from "../../clock/world.ts";
import { CliError, EXIT } from "../exit.ts";
import { wordsOnNewLine } from "../output.ts";
import type { FromWorker, ToWorker, WorkerCounts, WorkerSpec } from "./crew-messages.ts";

const WORKER = fileURLToPath(new URL("./worker-process.js", import.meta.url));
const FIRST_RESTART_MS = 100;
const LONGEST_RESTART_MS = 5_000;
/** How much longer than its grace a process may take to stop. */
const KILL_AFTER_MS = 5_000;
const NO_COUNTS: WorkerCounts = { completed: 0, failed: 0, reclaimed: 0 };

export class Crew {
  readonly #spec: Omit<WorkerSpec, "queues">;
  readonly #size: number;
  readonly #timers: Timers;
  readonly #alive = new Map<ChildProcess, WorkerCounts>();
  readonly #restarts = new Set<Timer>();
  #queues: readonly string[] = [];
  #dead: WorkerCounts = NO_COUNTS;
  #restartMs = FIRST_RESTART_MS;
  #stopping = false;
  #unable: CliError | undefined;
  #onEmpty = (): void => {};

  constructor(spec: Omit<WorkerSpec, "queues">, size: number, timers: Timers) {
    this.#spec = spec;
    this.#size = size;
    this.#timers = timers;
  }

  /** Starts what is missing of it. */
  start(queues: readonly string[]): void {
    this.#queues = queues;
    while (this.#alive.size + this.#restarts.size < this.#size && !this.#stopping) this.#startOne();
  }

  /** Of all processes, the ended ones too. */
  get counts(): WorkerCounts {
    return [...this.#alive.values()].reduce(sum, this.#dead);
  }

  /** @throws {CliError} when a process could not begin to work, which no other could either */
  check(): void {
    if (this.#unable !== undefined) throw this.#unable;
  }

  /** Lets each finish what it has; resolves when all have ended. One that hangs or is frozen is killed in the end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const timer of this.#restarts) timer.cancel();
    this.#tell({ kind: "stop" });
    this.#killAfter(this.#spec.graceMs + KILL_AFTER_MS);
    while (this.#alive.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
    }
  }

  /** Cuts short what runs, without waiting for any grace. */
  abort(): void {
    this.#tell({ kind: "abort" });
    this.#killAfter(KILL_AFTER_MS);
  }

  #killAfter(ms: number): void {
    const kill = (): void => {
      for (const child of this.#alive.keys()) child.kill("SIGKILL");
    };
    this.#timers.after(ms, kill, { background: true });
  }

  #tell(message: ToWorker): void {
    // One that has just ended cannot be told, and need not be.
    for (const child of this.#alive.keys()) if (child.connected) child.send(message, () => {});
  }

  #startOne(): void {
    // What handlers print is words to us: stdout is for the summary.
    const child = fork(WORKER, [JSON.stringify({ ...this.#spec, queues: this.#queues })], {
      stdio: ["ignore", 2, 2, "ipc"],
    });
    this.#alive.set(child, NO_COUNTS);
    child.on("message", (message) => this.#hear(child, message as FromWorker));
    child.once("error", (error) => {
      this.#unable ??= new CliError(EXIT.failed, `A worker process could not be started: ${error.message}.`);
      this.#ended(child, error.message);
    });
    // Its last counts may be read after its exit: it has ended when the channel is closed too.
    let how = "";
    const over = (): void => {
      if (how !== "" && !child.connected) this.#ended(child, how);
    };
    child.once("disconnect", over);
    child.once("exit", (code, signal) => {
      how = signal ?? `exit code ${code}`;
      over();
    });
  }

  #hear(child: ChildProcess, message: FromWorker): void {
    if (message.kind === "counts") {
      this.#alive.set(child, message.counts);
      this.#restartMs = FIRST_RESTART_MS;
    } else if (message.kind === "unable") {
      this.#unable ??= new CliError(message.exitCode, message.message);
    }
  }

  #ended(child: ChildProcess, how: string): void {
    this.#dead = sum(this.#dead, this.#alive.get(child) ?? NO_COUNTS);
    this.#alive.delete(child);
    if (this.#alive.size === 0) this.#onEmpty();
    if (this.#stopping || this.#unable !== undefined) return;
    wordsOnNewLine(
      `leasehold: a worker process ended (${how}); its jobs will be reclaimed when their leases end.`,
    );
    const timer = this.#timers.after(this.#restartMs, () => {
      this.#restarts.delete(timer);
      this.start(this.#queues);
    });
    this.#restarts.add(timer);
    this.#restartMs = Math.min(2 * this.#restartMs, LONGEST_RESTART_MS);
  }
}

function sum(one: WorkerCounts, other: WorkerCounts): WorkerCounts {
  return {
    completed: one.completed + other.completed,
    failed: one.failed + other.failed,
    reclaimed: one.reclaimed + other.reclaimed,
  };
}
