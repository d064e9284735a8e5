/** Processes whose wall clock a test sets while they run; their timers and monotonic clocks run as ever. */

import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../stores/sqlite/world.ts";

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

export interface FakeClock {
  /** For the processes that are to have this clock. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on it is off by so much. */
  step(ms: number): void;
}

export function fakeClock(): FakeClock {
  const file = join(temporaryFolder(), "clock");
  const step = (ms: number): void => {
    // In one step: a file that is read half written would stop the process.
    writeFileSync(`${file}.new`, `${offset(ms)}\n`);
    renameSync(`${file}.new`, file);
  };
  step(0);
  return { env: { ...preload(), FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: "1" }, step };
}

function preload(): Record<string, string> {
  return { LD_PRELOAD: LIBFAKETIME ?? "", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
}

function offset(ms: number): string {
  return `${ms < 0 ? "-" : "+"}${Math.abs(ms) / 1_000}s`;
}
