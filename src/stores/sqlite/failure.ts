/** What an error of SQLite means for a call: whether it may have happened (C11), and what its user can do. */

import { LeaseholdError, StoreBusyError, StoreUnusableError, UnknownOutcomeError } from "../../errors.ts";

const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

/** SQLite's primary result code, or undefined when the error is not one of SQLite's. */
function codeOf(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

/** The caller's own transaction is open on the handle that the store was given. */
export class HandleInUse extends Error {
  override readonly name = "HandleInUse";
}

export function isBusy(error: unknown): boolean {
  if (error instanceof HandleInUse) return true;
  const code = codeOf(error);
  return code === BUSY || code === LOCKED;
}

/** For an error before COMMIT was tried: the transaction was rolled back, so certainly nothing was written. */
export function definite(error: unknown, operation: string, path: string): unknown {
  if (error instanceof LeaseholdError) return error;
  if (isBusy(error)) return new StoreBusyError(operation, 0, error);
  const advice = adviceFor(codeOf(error), path);
  return advice === undefined ? error : unusable(operation, advice, error);
}

/** For an error of COMMIT itself: only a busy or full database is known to have rolled back. */
export function afterCommit(error: unknown, operation: string, path: string): unknown {
  const code = codeOf(error);
  if (code === BUSY || code === FULL) return definite(error, operation, path);
  return new UnknownOutcomeError(operation, error);
}

interface Advice {
  readonly problem: string;
  readonly next: string;
}

function adviceFor(code: number | undefined, path: string): Advice | undefined {
  switch (code) {
    case READONLY:
      return {
        problem: `${path} cannot be written`,
        next: "Give this user write access to the file and its folder.",
      };
    case FULL:
      return {
        problem: `the disk of ${path} is full`,
        next: "Free some space and repeat the call; what was acknowledged before is safe, this call wrote nothing.",
      };
    case CANTOPEN:
      return {
        problem: `${path} cannot be opened`,
        next: "Check that its folder exists and that this user may write there (SQLite keeps two files beside it).",
      };
    case IOERR:
      return {
        problem: `reading or writing ${path} failed`,
        next: "Check the disk; network file systems do not work.",
      };
    case NOTADB:
      return {
        problem: `${path} is not a SQLite database`,
        next: "Check the path; the file was left as it is.",
      };
    case CORRUPT:
      return {
        problem: `${path} is damaged`,
        next: "Restore it from a backup, then raise the floor.",
      };
    default:
      return undefined;
  }
}

function unusable(operation: string, advice: Advice, cause: unknown): StoreUnusableError {
  return new StoreUnusableError(`${operation}: ${advice.problem}.`, { next: advice.next, cause });
}
