/** Bad input: says what was received and what to give instead. */

import { LeaseholdError } from "./leasehold-error.ts";

/** An argument or option cannot be used; nothing was written. */
export class InvalidArgumentError extends LeaseholdError {
  readonly code = "LH_INVALID_ARGUMENT";
  readonly argument: string;
  readonly received: unknown;

  constructor(argument: string, received: unknown, expected: string) {
    super(`${argument}: received ${shown(received)}.`, { next: `Give ${expected}.` });
    this.argument = argument;
    this.received = received;
  }
}

/** A value would not survive as JSON; nothing was written. */
export class UnstorableValueError extends LeaseholdError {
  readonly code = "LH_UNSTORABLE_VALUE";
  /** Where in the value, as in `input.items[3].name`. */
  readonly path: string;

  constructor(path: string, problem: string, next: string) {
    super(`${path}: ${problem}.`, { next });
    this.path = path;
  }
}

/** An input or result does not fit the job's schema. */
export class SchemaMismatchError extends LeaseholdError {
  readonly code = "LH_SCHEMA_MISMATCH";
  readonly issues: readonly { readonly path: string; readonly message: string }[];

  constructor(
    jobName: string,
    what: "input" | "result",
    issues: readonly { readonly path: string; readonly message: string }[],
  ) {
    const list = issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ");
    super(`${jobName}: the ${what} does not fit its schema: ${list}.`, {
      next: `Correct the ${what}, or the schema.`,
    });
    this.issues = issues;
  }
}

/** A transaction that does not belong to this store, or that is not open. */
export class InvalidTransactionError extends LeaseholdError {
  readonly code = "LH_INVALID_TRANSACTION";
}

/** A body awaited something other than its `tx`, so its transaction was rolled back. */
export class TransactionBodyError extends LeaseholdError {
  readonly code = "LH_TRANSACTION_BODY";

  /** @param of what the body was given to */
  constructor(of: string) {
    super(`The body of ${of} was still pending when its turn of the event loop ended; it was rolled back.`, {
      next: "Do the slow work first, and await nothing but tx inside the body.",
    });
  }
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  if (typeof value === "function") return "a function";
  return String(value);
}
