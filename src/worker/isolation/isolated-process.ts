import { type ChildProcess, fork, type StdioOptions } from "node:child_process";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import type { EndOfTrust } from "../../errors.ts";
import { arrived, type CarriedError, carried } from "./carried-error.ts";
import { HAS_GROUPS, killGroup } from "./kill-group.ts";
import {
  type AwaitedCall,
  type CallAnswer,
  type Deadline,
  type FromProcess,
  KILLED_ITSELF,
  LAST_WORDS_FD,
  type ToProcess,
  WATCHDOG_FD,
} from "./messages.ts";

/** From sources there is no such file. */
export const PROCESS_FILE: URL = new URL("./own-process.js", import.meta.url);

const STDIO: StdioOptions = ["ignore", "inherit", "inherit", "ipc", "pipe", "pipe"];

/** How a process ended. */
export interface Death {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Its own watchdog ended it: no renewal had come for too long. */
  readonly byWatchdog: boolean;
  /** What was thrown outside the handler, or why the process could not be started. */
  readonly cause: unknown;
}

export type Ending =
  | { readonly kind: "returned"; readonly result: string | null }
  | { readonly kind: "threw"; readonly error: CarriedError };

/** Who is told what the run in a process writes. */
export interface RunListener {
  progress(json: string): void;
  log(text: string): void;
  /** An awaited call of the handler's. */
  call(call: AwaitedCall): Promise<unknown>;
}

/** A process that runs isolated jobs of one module, one at a time, as its worker sees it. */
export class IsolatedProcess {
  readonly module: string;
  /** Resolves when it can be given a run. */
  readonly ready: Promise<void>;
  /** Resolves when the process is gone and all that it said has been heard. Never rejects. */
  readonly exited: Promise<Death>;
  #child: ChildProcess | undefined;
  #listener: RunListener | undefined;
  #end: (ending: Ending) => void = () => {};
  #run = 0;
  #ready!: () => void;
  #crash: unknown;
  #said = "";
  #closing = false;

  constructor(module: string, execArgv: readonly string[] | undefined) {
    this.module = module;
    this.ready = new Promise((resolve) => {
      this.#ready = resolve;
    });
    this.exited = this.#start(execArgv ?? withoutInspector());
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The number of the run that it has now, or had last. */
  get run(): number {
    return this.#run;
  }

  /**
   * Gives it a run; the deadline goes first, so that no handler is ever without one. Resolves to how the handler ended,
   * never when the process dies before that.
   */
  begin(
    run: Omit<ToProcess & { readonly kind: "run" }, "kind" | "run">,
    deadline: Omit<Deadline, "run">,
    listener: RunListener,
  ): Promise<Ending> {
    this.#run++;
    this.#listener = listener;
    this.setDeadline(deadline);
    const ending = new Promise<Ending>((resolve) => {
      this.#end = resolve;
    });
    this.#tell({ kind: "run", run: this.#run, ...run });
    return ending;
  }

  setDeadline(deadline: Omit<Deadline, "run">): void {
    const line = JSON.stringify({ run: this.#run, ...deadline } satisfies Deadline);
    this.#pipe?.write(`${line}\n`);
  }

  abort(reason: EndOfTrust): void {
    this.#tell({ kind: "abort", run: this.#run, reason });
  }

  /** Ends it at once, with all that it has started. `exited` tells when that is so. */
  kill(): void {
    if (this.pid !== undefined) killGroup(this.pid);
  }

  /** Lets it end by itself: for one without a run. */
  close(): void {
    this.#closing = true;
    this.keepsWorkerAlive(true);
    if (this.#child?.connected) this.#child.disconnect();
  }

  /** An idle process does not keep its worker's alive. */
  keepsWorkerAlive(keeps: boolean): void {
    for (const handle of [
      this.#child,
      this.#child?.channel,
      this.#pipe as Handle | undefined,
      this.#lastWords as Handle | undefined,
    ]) {
      if (keeps) handle?.ref();
      else handle?.unref();
    }
  }

  get #pipe(): Duplex | undefined {
    return this.#child?.stdio?.[WATCHDOG_FD] as Duplex | undefined;
  }

  get #lastWords(): Duplex | undefined {
    const stdio: readonly unknown[] | undefined = this.#child?.stdio;
    return stdio?.[LAST_WORDS_FD] as Duplex | undefined;
  }

  #start(execArgv: readonly string[] | undefined): Promise<Death> {
    return new Promise((resolve) => {
      const ended = (exitCode: number | null, signal: NodeJS.Signals | null, cause: unknown): void => {
        resolve({ exitCode, signal, cause, byWatchdog: this.#said.includes(KILLED_ITSELF) });
      };
      try {
        const child = fork(fileURLToPath(PROCESS_FILE), [], {
          stdio: STDIO,
          detached: HAS_GROUPS,
          ...(execArgv === undefined ? {} : { execArgv: [...execArgv] }),
        });
        this.#child = child;
        child.on("message", (message) => this.#hear(message as FromProcess));
        // Without its channel it would be told nothing any more.
        child.once("disconnect", () => this.#closing || this.kill());
        // Its last words may be read after its exit: it has ended when channel and last words are at their ends too.
        let open = 3;
        const closed = (): void => {
          if (--open === 0) ended(child.exitCode, child.signalCode, this.#crash);
        };
        child.once("exit", () => this.kill()); // what it has started, and left
        child.once("exit", closed);
        child.once("disconnect", closed);
        this.#lastWords?.once("close", closed);
        child.on("error", (error) => child.pid === undefined && ended(null, null, error));
        this.#pipe?.on("error", () => {}); // it has died, which is heard of elsewhere
        this.#lastWords?.on("data", (part: Buffer) => {
          this.#said += part.toString("latin1");
        });
      } catch (error) {
        ended(null, null, error);
      }
    });
  }

  async #answer(run: number, call: number, asked: AwaitedCall): Promise<void> {
    const answer: CallAnswer = await (this.#listener as RunListener).call(asked).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: carried(error) }),
    );
    this.#tell({ kind: "answer", run, call, ...answer });
  }

  #tell(message: ToProcess): void {
    if (this.#child?.connected) this.#child.send(message, () => {});
  }

  /** The module's own code may send messages too, and an earlier run may have left something behind: neither is heard. */
  #hear(message: FromProcess | null): void {
    if (message?.kind === "ready") this.#ready();
    else if (message?.kind === "crashing") this.#crash = arrived(message.error);
    else if (message?.run !== this.#run) return;
    else if (message.kind === "progress") this.#listener?.progress(message.json);
    else if (message.kind === "log") this.#listener?.log(message.text);
    else if (message.kind === "call") void this.#answer(message.run, message.call, message);
    else if (message.kind === "returned" || message.kind === "threw") this.#end(message);
  }
}

interface Handle {
  ref(): void;
  unref(): void;
}

/** The worker's own options of Node, but not its inspector's, whose port is taken; undefined when they can stay. */
function withoutInspector(): readonly string[] | undefined {
  const rest = process.execArgv.filter((option) => !option.startsWith("--inspect"));
  // Left to `fork` where possible, which knows how to leave out the program of `node --eval`.
  return rest.length === process.execArgv.length ? undefined : rest;
}
