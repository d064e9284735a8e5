/** What a batch and its worker processes say to each other. */

import type { ExitCode } from "../exit.ts";
import type { StoreLocation } from "../store-url.ts";

export interface WorkerSpec {
  readonly module: string;
  readonly store: StoreLocation;
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly graceMs: number;
}

/** Since the process began. For display: the store knows better. */
export interface WorkerCounts {
  readonly completed: number;
  readonly failed: number;
  /** Taken over from an owner whose lease had lapsed. */
  readonly reclaimed: number;
}

export type FromWorker =
  | { readonly kind: "counts"; readonly counts: WorkerCounts }
  /** It cannot work at all: a second one could not either. */
  | { readonly kind: "unable"; readonly message: string; readonly exitCode: ExitCode };

/** `stop`: finish what runs. `abort`: stop that too. */
export interface ToWorker {
  readonly kind: "stop" | "abort";
}
