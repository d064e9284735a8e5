// How long a thread could have run and had no processor, as the system counts it.

import { readFileSync } from "node:fs";

/** Of the thread that asks, since its beginning, ms. 0 where the system does not tell. */
export function waitedForCpuMs() {
  try {
    const [, waitedNs = "0"] = readFileSync("/proc/thread-self/schedstat", "utf8").split(" ");
    return Number(waitedNs) / 1e6;
  } catch {
    return 0;
  }
}
