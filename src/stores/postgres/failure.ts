/** What an error of PostgreSQL or of the connection means for a call: whether it may have happened (C11). */

import { LeaseholdError, StoreBusyError, StoreUnusableError, UnknownOutcomeError } from "../../errors.ts";
import type { PgNotice } from "./driver.ts";

/** 25006 and 55000: a standby. 55P03: a lock was not to be had. 57014: cancelled. */
const DEFINITE = new Set(["25006", "55000", "55P03", "57014"]);

/** The five letters and digits that the server gives with an error; undefined when it was the connection that failed. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  const severity = (error as { severity?: unknown } | null)?.severity;
  return typeof code === "string" && severity !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** A serialization failure or a deadlock: the whole transaction is to be repeated. */
export function isRepeatable(error: unknown): boolean {
  const state = sqlState(error);
  return state === "40001" || state === "40P01";
}

/**
 * A prepared statement is not there (26000), is there already (42P05), or was prepared for tables that have changed since
 * (0A000): the server says so before it executes anything.
 */
export function forgotPrepared(error: unknown): boolean {
  const state = sqlState(error) ?? "";
  return state === "26000" || state === "42P05" || state === "0A000";
}

/** A table, column or function that is not there: of our own statement, or as the cause of what was made of it. */
export function namesWhatIsMissing(error: unknown): boolean {
  const state = sqlState(error) ?? sqlState((error as { cause?: unknown } | null)?.cause) ?? "";
  return /^(42P01|42703|42883|3F000)$/.test(state);
}

/** The member of a batch that carries a bad value must not spoil the others. */
export function isBadValue(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? "");
}

/** Whether the connection is in order after this error and may be used again. */
export function leavesConnection(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && !state.startsWith("57P") && !state.startsWith("08");
}

/**
 * The commit is there for everyone to see, but the standby that was to have it may not (C11). Words are translated, so
 * the routine that warns is asked first.
 */
export function isUnsynced(notice: PgNotice): boolean {
  return (
    notice.routine === "SyncRepWaitForLSN" ||
    /canceling (the )?wait for synchronous replication/.test(notice.message ?? "")
  );
}

/** For an error while no connection was had yet: certainly nothing was sent. */
export function unreachable(error: unknown, operation: string, waitedMs: number, store: string): Error {
  if (error instanceof LeaseholdError) return error;
  const state = sqlState(error) ?? "";
  if (state.startsWith("28") || state === "3D000") {
    return new StoreUnusableError(`${operation}: ${store} does not let us in: ${messageOf(error)}.`, {
      next: "Check user, password and database of the connection.",
      cause: error,
    });
  }
  return new StoreBusyError(operation, waitedMs, error);
}

/**
 * For an error after something was sent, and before a COMMIT of our own if there is one.
 *
 * @param mayHaveHappened false when nothing can have been committed whatever became of the connection
 */
export function afterSending(
  error: unknown,
  operation: string,
  waitedMs: number,
  mayHaveHappened: boolean,
): unknown {
  if (error instanceof LeaseholdError) return error;
  const state = sqlState(error);
  if (state !== undefined) {
    if (/^2[23]/.test(state)) return error;
    if (state.startsWith("40") || DEFINITE.has(state)) return new StoreBusyError(operation, waitedMs, error);
    // Refused before it ran. It is not among C11's classes because nothing but a wrong set-up leads to it.
    if (/^(42|3F)/.test(state)) {
      return new StoreUnusableError(`${operation}: ${messageOf(error)}.`, {
        next: "Check the rights of this user on the schema, and run `leasehold migrate`.",
        cause: error,
      });
    }
  }
  return mayHaveHappened
    ? new UnknownOutcomeError(operation, error)
    : new StoreBusyError(operation, waitedMs, error);
}

/** For an error of COMMIT itself: of a deferred check or a serialization failure it is known that it rolled back. */
export function afterCommit(error: unknown, operation: string, waitedMs: number): unknown {
  if (error instanceof LeaseholdError) return error;
  const state = sqlState(error) ?? "";
  if (/^2[23]/.test(state)) return error;
  return state.startsWith("40")
    ? new StoreBusyError(operation, waitedMs, error)
    : new UnknownOutcomeError(operation, error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
