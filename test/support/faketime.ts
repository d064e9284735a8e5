/** Processes whose wall clock is set off while they run; their monotonic one, and with it their timers, stay as they are. */

import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Where distributions put it. */
const LIBFAKETIME = ["x86_64-linux-gnu", "aarch64-linux-gnu", ""]
  .flatMap((arch) =>
    ["lib", "lib64"].map((lib) => `/usr/${lib}/${arch === "" ? "" : `${arch}/`}faketime/libfaketime.so.1`),
  )
  .find(existsSync);

export const missingFaketime: string | undefined =
  LIBFAKETIME === undefined ? "libfaketime is not installed (`faketime`)" : undefined;

/** The environment of a process whose wall clock is off by so much from its start on. */
export function shiftedBy(ms: number): Record<string, string> {
  return { ...preload(), FAKETIME: offset(ms) };
}

/** One clock, until the end of the test. */
export function fakeClock(): {
  /** For the processes that are to have it. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on it is off by so much. */
  step(ms: number): void;
} {
  const clocks = new Clocks();
  onTestFinished(() => clocks.remove());
  return { env: clocks.env("clock"), step: (ms) => clocks.setOff("clock", ms) };
}

/** Wall clocks by name, each in a file that is looked at whenever the time is read. */
export class Clocks {
  // Not in the folder of a run: a server that is another user's has to read it too.
  readonly #folder = mkdtempSync(join(tmpdir(), "leasehold-clocks-"));

  constructor() {
    chmodSync(this.#folder, 0o755);
  }

  /** The environment of the processes that go by this clock, which is right at first. */
  env(name: string): Record<string, string> {
    if (!existsSync(this.#file(name))) this.setOff(name, 0);
    return { ...preload(), FAKETIME_TIMESTAMP_FILE: this.#file(name), FAKETIME_NO_CACHE: "1" };
  }

  /** @param ms against the machine's clock, from now on */
  setOff(name: string, ms: number): void {
    const next = `${this.#file(name)}.next`;
    writeFileSync(next, `${offset(ms)}\n`, { mode: 0o644 });
    renameSync(next, this.#file(name)); // whoever reads it finds a whole one
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #file(name: string): string {
    return join(this.#folder, name.replaceAll(" ", "-"));
  }
}

function preload(): Record<string, string> {
  return { LD_PRELOAD: LIBFAKETIME ?? "", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
}

function offset(ms: number): string {
  return `${ms < 0 ? "-" : "+"}${Math.abs(ms) / 1_000}s`;
}
