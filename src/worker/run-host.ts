import type { World } from "../clock/world.ts";
import type { EndOfTrust } from "../errors.ts";
import type { Store } from "../stores/store.ts";
import type { Emitter } from "./emitter.ts";
import type { WorkerEvents } from "./events.ts";
import type { HeldLease } from "./held-lease.ts";
import type { ProcessPool } from "./isolation/process-pool.ts";
import type { Run } from "./run.ts";
import type { RunEnd } from "./run-end.ts";
import type { RunWriter } from "./run-writer.ts";
import type { StepWriter } from "./step-writer.ts";

/** What all runs of a worker share. */
export interface RunHost {
  readonly world: World;
  readonly store: Store;
  readonly events: Emitter<WorkerEvents>;
  readonly writer: RunWriter;
  readonly steps: StepWriter;
  readonly callTimeoutMs: number;
  readonly maxResultBytes: number;
  /** After its signal a handler has so long before it is `stuck`. */
  readonly graceMs: number;
  /** Undefined where no job has a module, or none can be isolated. */
  readonly processes: ProcessPool | undefined;
  /** The handler has ended, so its place is free. */
  handlerEnded(run: Run): void;
  /** The run's outcome is to be handed to the store. */
  settle(run: Run): void;
  /** The handler ignores its signal (W4). */
  stuck(run: Run, reason: EndOfTrust, runningMs: number): void;
  /** The process of an isolated handler that ignored its signal is gone (W4). */
  terminated(run: Run, reason: EndOfTrust, pid: number, runningMs: number): void;
  /** The run has come to its end, whichever: nothing of it is renewed or waited for any more. */
  done(run: Run, how: RunEnd): void;
  /** Its lease is to be renewed no longer. */
  drop(lease: HeldLease): void;
  /** It is not to be renewed after that moment of the monotonic clock. */
  limit(lease: HeldLease, untilMs: number): void;
  /** Brings what a renewer thread has achieved into the lease. */
  refresh(lease: HeldLease): void;
}
