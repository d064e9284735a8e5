/**
 * Every error that Leasehold throws on purpose. Three kinds are kept apart: a *refusal* (expected, part of the
 * protocol), an *unknown outcome* (no answer came: it may have happened), and bad input or a broken environment (says
 * what was received and what to do). `docs/reference/errors.md` lists them all, and a test holds the two together.
 */

export { type EndOfTrust, LeaseEndedError } from "./errors/end-of-trust.ts";
export {
  InvalidArgumentError,
  InvalidTransactionError,
  SchemaMismatchError,
  TransactionBodyError,
  UnstorableValueError,
} from "./errors/input.ts";
export { FinalError, JobNotCompletedError, WaitTimeoutError } from "./errors/jobs.ts";
export { LeaseholdError, type LeaseholdErrorOptions } from "./errors/leasehold-error.ts";
export {
  AlreadySettledError,
  BatchSealedError,
  GoneError,
  LeaseHeldError,
  LeaseNotTrustedError,
  StaleLeaseError,
  UniqueConflictError,
  UnknownJobError,
} from "./errors/refusals.ts";
export { ClosedError, SchemaVersionError, StoreBusyError, StoreUnusableError } from "./errors/stores.ts";
export {
  type BegunStep,
  StepRepeatedError,
  StepUnknownError,
  UnknownOutcomeError,
} from "./errors/unknown.ts";
