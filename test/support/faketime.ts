/** Processes whose wall clock is set off while they run; their monotonic one, and with it their timers, stay as they are. */

import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where distributions put it. */
export const LIBFAKETIME = ["x86_64-linux-gnu", "aarch64-linux-gnu", ""]
  .flatMap((arch) =>
    ["lib", "lib64"].map((lib) => `/usr/${lib}/${arch === "" ? "" : `${arch}/`}faketime/libfaketime.so.1`),
  )
  .find(existsSync);

export const missingFaketime =
  LIBFAKETIME === undefined ? "libfaketime is not installed (`faketime`)" : undefined;

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
    return {
      LD_PRELOAD: LIBFAKETIME ?? "",
      FAKETIME_TIMESTAMP_FILE: this.#file(name),
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** @param ms against the machine's clock, from now on */
  setOff(name: string, ms: number): void {
    const next = `${this.#file(name)}.next`;
    writeFileSync(next, `${ms < 0 ? "-" : "+"}${Math.abs(ms) / 1_000}s\n`, { mode: 0o644 });
    renameSync(next, this.#file(name)); // whoever reads it finds a whole one
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #file(name: string): string {
    return join(this.#folder, name.replaceAll(" ", "-"));
  }
}
