import { StoreBusyError, UnknownOutcomeError } from "../errors.ts";
import { instant } from "./held-lease.ts";
import type { Run } from "./run.ts";

/** Whether a call on the store for this run is to be made again after this error (C11): its lease may still be its own. */
export function isAskedAgain(run: Run, error: unknown): boolean {
  const passing = error instanceof UnknownOutcomeError || error instanceof StoreBusyError;
  return passing && run.refusal === undefined && run.lease.stateAt(instant(run.host.world.clock)) !== "ended";
}
