/**
 * Exit codes, the same for every command, so that scripts can tell the kinds of trouble apart. They are listed in
 * `docs/reference/cli.md`.
 */

import { LeaseholdError } from "../errors.ts";

export const EXIT = {
  done: 0,
  /** The command ran and what it ran failed: jobs failed, a check found something, a bug. */
  failed: 1,
  /** Wrong flag, missing file, bad input: nothing was written. */
  usage: 2,
  notFound: 3,
  /** The store cannot be reached or used, or something was waited for in vain. */
  unreachable: 4,
  /** The store said no: conflict, stale, held by somebody else. */
  refused: 5,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An end that the command line decided itself; its message is for a person, and says what to do. */
export class CliError extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = "CliError";
    this.exitCode = exitCode;
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, message);
}

const BY_CODE: Readonly<Record<string, ExitCode>> = {
  LH_INVALID_ARGUMENT: EXIT.usage,
  LH_UNSTORABLE_VALUE: EXIT.usage,
  LH_SCHEMA_MISMATCH: EXIT.usage,
  LH_GONE: EXIT.notFound,
  LH_STALE_LEASE: EXIT.refused,
  LH_ALREADY_SETTLED: EXIT.refused,
  LH_LEASE_NOT_TRUSTED: EXIT.refused,
  LH_LEASE_ENDED: EXIT.refused,
  LH_LEASE_HELD: EXIT.refused,
  LH_UNIQUE_CONFLICT: EXIT.refused,
  LH_BATCH_SEALED: EXIT.refused,
  LH_UNKNOWN_JOB: EXIT.notFound,
  LH_UNKNOWN_OUTCOME: EXIT.unreachable,
  LH_STORE_BUSY: EXIT.unreachable,
  LH_STORE_UNUSABLE: EXIT.unreachable,
  LH_SCHEMA_VERSION: EXIT.unreachable,
  LH_WAIT_TIMEOUT: EXIT.unreachable,
};

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof LeaseholdError) return BY_CODE[error.code] ?? EXIT.failed;
  return EXIT.failed;
}

/** As shells count it: 128 and the signal's number. */
export function signalExitCode(signal: "SIGINT" | "SIGTERM" | "SIGHUP"): number {
  return { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[signal];
}

/** What is said about an error: its message for those made for people, the stack for what is a bug. */
export function errorText(error: unknown): string {
  if (error instanceof CliError || error instanceof LeaseholdError) return error.message;
  if (error instanceof Error) return error.stack ?? error.message;
  return String(error);
}
