export {
  defineJob,
  isJobDefinition,
  type JobDefaults,
  type JobDefinition,
  type JobSpec,
  type UniqueKey,
} from "./client/define-job.ts";
export type { Enqueued, EnqueueEntry, EnqueueOptions, JobRef } from "./client/enqueued.ts";
export type { Lease, RunContext, RunningJob } from "./client/handler.ts";
export type { JobView, StoredError } from "./client/job-view.ts";
export { Leasehold, type LeaseholdOptions } from "./client/leasehold.ts";
export type { Log, LogEntry } from "./client/log.ts";
export type { JobOptions } from "./client/new-job.ts";
export type { BatchOption } from "./client/ordering.ts";
export type { QueueLimitOptions } from "./client/queue-limit.ts";
export type { CatchUp, ScheduleOptions, ScheduleSpec, ScheduleView } from "./client/schedule-spec.ts";
export type { ScheduleAnswer, Scheduled, Schedules } from "./client/schedules.ts";
export type { Step, StepFunction, StepOptions, StepScope, StepView } from "./client/step.ts";
export type { Clock, FaultPoint, Ids, Random, Timer, TimerOptions, Timers, World } from "./clock/world.ts";
export {
  EffectFailedError,
  EffectHalfMadeError,
  EffectMismatchError,
  EffectRunningError,
  PrunedLineError,
  StaleTokenError,
} from "./destinations/refusals.ts";
export {
  AlreadySettledError,
  BatchSealedError,
  type BegunStep,
  ClosedError,
  type EndOfTrust,
  FinalError,
  GoneError,
  InvalidArgumentError,
  InvalidTransactionError,
  JobNotCompletedError,
  LeaseEndedError,
  LeaseHeldError,
  LeaseholdError,
  type LeaseholdErrorOptions,
  LeaseNotTrustedError,
  SchemaMismatchError,
  SchemaVersionError,
  StaleLeaseError,
  StepRepeatedError,
  StepUnknownError,
  StoreBusyError,
  StoreUnusableError,
  TransactionBodyError,
  UniqueConflictError,
  UnknownJobError,
  UnknownOutcomeError,
  UnstorableValueError,
  WaitTimeoutError,
} from "./errors.ts";
export type { BatchCounts, Blocker, OnFailure, Waits } from "./protocol/blocking.ts";
export type { Previous } from "./protocol/claim.ts";
export type { ControlAnswer } from "./protocol/control.ts";
export type { EnqueueAnswer, OnConflict } from "./protocol/enqueue.ts";
export type { FencingToken, Generation, JobId, Line, Owner } from "./protocol/identity.ts";
export type { EndReason, JobState } from "./protocol/job.ts";
export type { JournalEntry, JournalKind } from "./protocol/journal.ts";
export type { QueueLimit, RateLimit } from "./protocol/limit.ts";
export type { Gone, Refusal, Stale, StaleReason } from "./protocol/outcome.ts";
export type { Backoff } from "./protocol/retry.ts";
export type { StepResolved } from "./protocol/step.ts";
export type { TrustState } from "./protocol/trust.ts";
export type { ListFilter, QueueCounts, Store, Transaction, Tx } from "./stores/store.ts";
export type { RunCounts, RunRef, WorkerEvents } from "./worker/events.ts";
export {
  IsolatedCompletionError,
  IsolationUnavailableError,
  JobModuleError,
  ProcessDiedError,
  ProcessTerminatedError,
  WorkerInIsolationError,
} from "./worker/isolation/errors.ts";
export type { WithLeaseOptions } from "./worker/named-leases.ts";
export type { Retention } from "./worker/pruner.ts";
export type { IsolationOptions, WorkerOptions } from "./worker/settings.ts";
export type { Worker } from "./worker/worker.ts";
