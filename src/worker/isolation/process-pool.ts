import type { Timer, World } from "../../clock/world.ts";
import { IsolatedProcess } from "./isolated-process.ts";

/** How long a process may take to end by itself when it is needed no more. */
const CLOSE_WITHIN_MS = 1_000;

export interface PoolOptions {
  /** How many processes there may be. */
  readonly max: number;
  readonly idleMs: number;
  readonly execArgv: readonly string[] | undefined;
}

/**
 * The isolated processes of a worker. One that a run has returned in waits for the next run of its module; one in which
 * anything else happened is never used again. None is started before it is needed.
 */
export class ProcessPool {
  readonly #world: World;
  readonly #options: PoolOptions;
  readonly #all = new Set<IsolatedProcess>();
  readonly #idle = new Map<IsolatedProcess, Timer>();
  #closed = false;

  constructor(world: World, options: PoolOptions) {
    this.#world = world;
    this.#options = options;
  }

  /** A process for one run of that module: a waiting one, the last used first, or a new one. */
  take(module: string): IsolatedProcess {
    const waiting = [...this.#idle.keys()].filter((process) => process.module === module).at(-1);
    if (waiting === undefined) return this.#start(module);
    this.#leave(waiting);
    waiting.keepsWorkerAlive(true);
    return waiting;
  }

  /** Its handler has returned, and its run was current to the end. */
  giveBack(process: IsolatedProcess): void {
    if (this.#closed) {
      this.#close(process);
      return;
    }
    process.keepsWorkerAlive(false);
    const close = (): void => {
      this.#leave(process);
      this.#close(process);
    };
    this.#idle.set(process, this.#world.timers.after(this.#options.idleMs, close, { background: true }));
  }

  /** Resolves when all are gone that wait; those with a run have been ended before. */
  async close(): Promise<void> {
    this.#closed = true;
    const waiting = [...this.#idle.keys()];
    for (const process of waiting) {
      this.#leave(process);
      this.#close(process);
    }
    await Promise.all(waiting.map(({ exited }) => exited));
  }

  #start(module: string): IsolatedProcess {
    const [idlest] = this.#idle.keys();
    if (this.#all.size >= this.#options.max && idlest !== undefined) {
      this.#leave(idlest);
      this.#close(idlest);
    }
    const process = new IsolatedProcess(module, this.#options.execArgv);
    this.#all.add(process);
    void process.exited.then(() => {
      this.#all.delete(process);
      this.#leave(process);
    });
    return process;
  }

  #leave(process: IsolatedProcess): void {
    this.#idle.get(process)?.cancel();
    this.#idle.delete(process);
  }

  #close(process: IsolatedProcess): void {
    process.close();
    const kill = this.#world.timers.after(CLOSE_WITHIN_MS, () => process.kill());
    void process.exited.then(() => kill.cancel());
  }
}
