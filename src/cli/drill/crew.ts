/** The two worker processes of a drill: A, to which the faults happen, and B, which takes over. */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Timers } from "../../clock/world.ts";
import type { Child, Children } from "../children.ts";
import { CliError, EXIT } from "../exit.ts";
import type { FromWorker, Kind, Part, Told, WorkerSpec } from "./messages.ts";

const WORKER = fileURLToPath(new URL("./worker-process.js", import.meta.url));

export interface Performer {
  readonly pid: number;
  work(part: Omit<Part, "kind">): void;
  /** The next message, which must be of `kind`. @throws {RoundBrokenOff} it is another, none came in time, or it has died */
  hear<K extends Kind>(kind: K): Promise<Told<K>>;
  go(): void;
  /** Lets one go on that is stopped or blocked. */
  release(goFile: string): void;
  /** @throws {RoundBrokenOff} it did not die, or in another way */
  died(): Promise<void>;
}

/** A round has not gone as it was to go: what it shows is not known, and nothing is concluded from it. */
export class RoundBrokenOff extends CliError {
  constructor(why: string) {
    super(EXIT.unreachable, why);
    this.name = "RoundBrokenOff";
  }
}

export class Crew {
  readonly #children: Children;
  readonly #spec: string;
  readonly #timers: Timers;
  readonly #patienceMs: number;
  readonly #running = new Map<"A" | "B", Child<FromWorker>>();

  /** @param patienceMs how long any one message may take */
  constructor(children: Children, spec: WorkerSpec, timers: Timers, patienceMs: number) {
    this.#children = children;
    this.#spec = JSON.stringify(spec);
    this.#timers = timers;
    this.#patienceMs = patienceMs;
  }

  /** Started when it is not there: at first, and after it was killed. */
  get(name: "A" | "B"): Performer {
    const child = this.#running.get(name) ?? this.#start(name);
    const within = <T>(promise: Promise<T>, what: string): Promise<T> =>
      this.#within(promise, `${name} ${what}`);
    return {
      pid: child.pid,
      work: (part) => child.tell({ kind: "work", ...part }),
      async hear(kind) {
        const message = await within(
          child.next().catch((error: Error) => {
            throw new RoundBrokenOff(error.message);
          }),
          `was to tell "${kind}", and told nothing`,
        );
        if (message.kind === kind) return message as Told<typeof kind>;
        const said = message.kind === "unable" ? message.message : `told "${message.kind}"`;
        throw new RoundBrokenOff(`${name} was to tell "${kind}": ${said}`);
      },
      go: () => child.tell({ kind: "go" }),
      release(goFile) {
        writeFileSync(goFile, "");
        process.kill(child.pid, "SIGCONT");
      },
      died: async () => {
        const how = await within(child.ended, "was to be killed, and lives");
        this.#running.delete(name);
        if (how !== "SIGKILL")
          throw new RoundBrokenOff(`${name} was to be killed, and ended itself (${how})`);
      },
    };
  }

  /** After a round that broke off nobody knows where they are: the next one begins with new ones. */
  dismiss(): void {
    for (const child of this.#running.values()) child.kill();
    this.#running.clear();
  }

  #start(name: "A" | "B"): Child<FromWorker> {
    const child = this.#children.start<FromWorker>(WORKER, this.#spec, `Process ${name}`);
    this.#running.set(name, child);
    return child;
  }

  async #within<T>(promise: Promise<T>, what: string): Promise<T> {
    const over = new AbortController();
    const late = this.#timers.sleep(this.#patienceMs, over.signal).then(() => {
      throw new RoundBrokenOff(`${what} for ${this.#patienceMs / 1000} s`);
    });
    late.catch(() => {}); // it also ends when what was waited for has come
    try {
      return await Promise.race([promise, late]);
    } finally {
      over.abort();
    }
  }
}
