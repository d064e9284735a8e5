/**
 * How an enqueue in one process wakes a worker that sleeps in another, in well under a millisecond. Watching the
 * database's own `-wal` file would not do: its event comes before the commit is visible.
 *
 * Nine bytes: eight random ones that change with every ring, and one that says whether somebody sleeps. A sleeper sets
 * it *before* its last look; a ringer reads it *after* its commit: so either the look finds the job, or the ringer finds
 * the mark.
 */

import {
  closeSync,
  type FSWatcher,
  fstatSync,
  openSync,
  readSync,
  statSync,
  watch,
  writeSync,
} from "node:fs";
import type { Random, Timer, Timers } from "../../clock/world.ts";

const RING_BYTES = 8;
const SOMEBODY_SLEEPS = Buffer.from([1]);
/** Within this time a watcher must have told of our own ring, or it is of no use here, ms. */
const SELF_TEST_MS = 500;
/** Without a usable watcher the file is read this often, ms. */
const READ_EVERY_MS = 20;
/** How often it is checked that the file watched is still the one at that path, ms. */
const CHECK_EVERY_MS = 5_000;

export class WakeFile {
  readonly #path: string;
  readonly #timers: Timers;
  readonly #random: Random;
  readonly #onRing: () => void;
  #file: number;
  readonly #bytes = Buffer.alloc(RING_BYTES + 1);
  #lastRing = "";
  #watcher: FSWatcher | undefined;
  #watcherWorks = false;
  #timer: Timer | undefined;

  constructor(path: string, timers: Timers, random: Random, onRing: () => void) {
    this.#path = path;
    this.#timers = timers;
    this.#random = random;
    this.#onRing = onRing;
    this.#file = openFile(path);
  }

  /** Writes only when somebody sleeps. */
  ring(): void {
    if (this.#read()[RING_BYTES] === SOMEBODY_SLEEPS[0]) this.#write();
  }

  noteSleeper(): void {
    this.#lastRing = ringOf(this.#read());
    writeSync(this.#file, SOMEBODY_SLEEPS, 0, 1, RING_BYTES);
  }

  watch(): void {
    if (this.#timer !== undefined) return;
    try {
      this.#watcher = watch(this.#path, { persistent: false }, () => {
        this.#watcherWorks = true;
        this.#look();
      });
      this.#watcher.on("error", () => this.#dropWatcher());
      this.#write();
    } catch {
      // No watcher to be had (a limit, or a file system without them): the file is read instead.
    }
    this.#after(SELF_TEST_MS);
  }

  unwatch(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#dropWatcher();
  }

  close(): void {
    this.unwatch();
    closeSync(this.#file);
  }

  #after(delayMs: number): void {
    this.#timer = this.#timers.after(delayMs, () => this.#check(), { background: true });
  }

  #check(): void {
    if (!this.#isSameFile()) {
      // A replaced file leaves its watcher dead without an error.
      this.unwatch();
      closeSync(this.#file);
      this.#file = openFile(this.#path);
      this.watch();
      this.#onRing();
      return;
    }
    if (!this.#watcherWorks) this.#look();
    this.#after(this.#watcherWorks ? CHECK_EVERY_MS : READ_EVERY_MS);
  }

  #look(): void {
    const ring = ringOf(this.#read());
    if (ring === this.#lastRing) return;
    this.#lastRing = ring;
    this.#onRing();
  }

  #isSameFile(): boolean {
    try {
      return statSync(this.#path).ino === fstatSync(this.#file).ino;
    } catch {
      return false;
    }
  }

  #dropWatcher(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#watcherWorks = false;
  }

  #write(): void {
    const bytes = Buffer.alloc(RING_BYTES + 1);
    for (let index = 0; index < RING_BYTES; index++) bytes[index] = Math.floor(this.#random.next() * 256);
    writeSync(this.#file, bytes, 0, bytes.length, 0);
  }

  /** What the file holds now; good until the next read. */
  #read(): Buffer {
    readSync(this.#file, this.#bytes, 0, RING_BYTES + 1, 0);
    return this.#bytes;
  }
}

/** Opened for reading and writing, made when missing, never emptied: another process may have its mark in it. */
function openFile(path: string): number {
  closeSync(openSync(path, "a"));
  return openSync(path, "r+");
}

function ringOf(bytes: Buffer): string {
  return bytes.toString("latin1", 0, RING_BYTES);
}
