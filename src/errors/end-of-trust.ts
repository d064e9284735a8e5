/** The reasons of an AbortSignal (W3). */

import type { FencingToken } from "../protocol/identity.ts";
import { LeaseholdError } from "./leasehold-error.ts";

/** Why a handler's signal fired. */
export type EndOfTrust =
  | "lease_expired"
  | "lease_superseded"
  | "cancelled"
  | "revoked"
  | "max_run"
  | "shutdown";

const END_OF_TRUST: Record<EndOfTrust, string> = {
  lease_expired: "the lease ended before it could be renewed",
  lease_superseded: "another owner has claimed since",
  cancelled: "the job was cancelled",
  revoked: "an operator revoked the lease",
  max_run: "the run took longer than maxRunMs",
  shutdown: "the worker is stopping and the grace is over",
};

/** The `reason` of a run's or lease's `AbortSignal`; `reason.reason` tells the kinds apart. */
export class LeaseEndedError extends LeaseholdError {
  readonly code = "LH_LEASE_ENDED";
  readonly reason: EndOfTrust;
  readonly token: FencingToken;

  constructor(reason: EndOfTrust, token: FencingToken) {
    super(`${token.line}: generation ${token.generation}: ${END_OF_TRUST[reason]}.`, {
      next: "Start no further effect and return soon; the store and fenced destinations refuse late ones.",
    });
    this.reason = reason;
    this.token = token;
  }
}
