/** A command that runs while a lease is held, and is ended when the lease ends. */

import type { Timers } from "../clock/world.ts";
import { type Lease, LeaseEndedError } from "../index.ts";
import { startCommand } from "./child-command.ts";

export interface LeasedCommand {
  readonly command: readonly string[];
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
  readonly timers: Timers;
  /** The lease has ended before the command, for this reason; the command has just been sent SIGTERM. */
  onLost(reason: string): void;
}

/** @returns the command's exit code; what it says does not count once the lease was lost */
export async function runUnderLease(lease: Lease, leased: LeasedCommand): Promise<number> {
  const { line, generation, owner } = lease.token;
  const env = { LEASEHOLD_LINE: line, LEASEHOLD_GENERATION: String(generation), LEASEHOLD_OWNER: owner };
  const child = startCommand(leased.command, env, leased.timers);
  const onEnd = (): void => {
    const reason: unknown = lease.signal.reason;
    child.end(leased.graceMs);
    leased.onLost(reason instanceof LeaseEndedError ? reason.reason : String(reason));
  };
  lease.signal.addEventListener("abort", onEnd, { once: true });
  if (lease.signal.aborted) onEnd();
  try {
    return await child.exitCode;
  } finally {
    lease.signal.removeEventListener("abort", onEnd);
  }
}
