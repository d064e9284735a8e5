import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import type { HistoryEvent } from "./record.ts";

const LOOK_EVERY_MS = 15;
const CHUNK = 1 << 18;

/** Follows the histories while they are written, for whoever waits for something to happen. */
export class Tail {
  readonly #folder: string;
  readonly #files = new Map<string, { readonly file: number; rest: string }>();
  readonly #heard = new Set<(event: HistoryEvent) => void>();
  readonly #timer: NodeJS.Timeout;
  readonly #chunk = Buffer.alloc(CHUNK);

  constructor(folder: string) {
    this.#folder = folder;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  /** Resolves to whether such an event has been written from now on, before `signal` fires. */
  sees(fits: (event: HistoryEvent) => boolean, signal: AbortSignal): Promise<boolean> {
    this.#look();
    return new Promise((resolve) => {
      const done = (has: boolean): void => {
        this.#heard.delete(hear);
        signal.removeEventListener("abort", over);
        resolve(has);
      };
      const hear = (event: HistoryEvent): void => void (fits(event) && done(true));
      const over = (): void => done(false);
      this.#heard.add(hear);
      signal.addEventListener("abort", over);
      if (signal.aborted) over();
    });
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { file } of this.#files.values()) closeSync(file);
  }

  #look(): void {
    for (const name of readdirSync(this.#folder)) {
      if (!this.#files.has(name))
        this.#files.set(name, { file: openSync(join(this.#folder, name), "r"), rest: "" });
    }
    for (const followed of this.#files.values()) {
      const length = readSync(followed.file, this.#chunk, 0, CHUNK, null);
      if (length === 0) continue;
      const lines = (followed.rest + this.#chunk.toString("latin1", 0, length)).split("\n");
      followed.rest = lines.pop() ?? "";
      for (const line of lines) {
        const event = JSON.parse(line) as HistoryEvent;
        for (const hear of this.#heard) hear(event);
      }
    }
  }
}
