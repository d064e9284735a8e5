import { existsSync } from "node:fs";

/** Where distributions put it. */
const LIBFAKETIME = ["x86_64-linux-gnu", "aarch64-linux-gnu", ""]
  .flatMap((arch) =>
    ["lib", "lib64"].map((lib) => `/usr/${lib}/${arch === "" ? "" : `${arch}/`}faketime/libfaketime.so.1`),
  )
  .find(existsSync);

export const missingFaketime: string | undefined =
  LIBFAKETIME === undefined ? "libfaketime is not installed (`faketime`)" : undefined;

/** The environment of a process whose wall clock is off by so much, and whose timers run as ever. */
export function shiftedBy(ms: number): Record<string, string> {
  return {
    LD_PRELOAD: LIBFAKETIME ?? "",
    FAKETIME: `${ms < 0 ? "-" : "+"}${Math.abs(ms) / 1000}s`,
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
}
