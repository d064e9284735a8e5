/** `leasehold/destinations/http`: effects on an HTTP service, and the service's own guard. */

export type {
  Destination,
  DestinationLevel,
  EffectLease,
  EffectOptions,
  Guard,
  ProbeResult,
} from "../destination.ts";
export type { GuardPool } from "../postgres/index.ts";
export { EffectMismatchError, EffectRunningError, PrunedLineError, StaleTokenError } from "../refusals.ts";
export type { GuardDatabase, GuardTx } from "../sqlite/index.ts";
export {
  type GuardedHttp,
  type HttpDatabaseOptions,
  type HttpGuardOptions,
  type HttpGuardSettings,
  type HttpHandle,
  httpGuard,
} from "./guard.ts";
export {
  type HttpDestination,
  type HttpDestinationOptions,
  type HttpEffect,
  type HttpLease,
  httpDestination,
} from "./http-destination.ts";
export { type NodeHandlerOptions, nodeHandler } from "./node-handler.ts";
