/** Stores that cannot be used, now or as they are. */

import { LeaseholdError } from "./leasehold-error.ts";

/** The store refused for now and certainly did nothing: its lock was not to be had before the call's deadline. */
export class StoreBusyError extends LeaseholdError {
  readonly code = "LH_STORE_BUSY";

  constructor(operation: string, waitedMs: number, cause?: unknown) {
    super(
      `${operation}: the store was busy or out of reach for ${Math.round(waitedMs)} ms${causeOf(cause)}; nothing was written.`,
      {
        next: "Repeat the call; if it happens often, look for a long transaction on the store or raise callTimeoutMs.",
        cause,
      },
    );
  }
}

/** The store cannot be used as it is: no rights, full disk, wrong file, wrong version of the engine. */
export class StoreUnusableError extends LeaseholdError {
  readonly code = "LH_STORE_UNUSABLE";
}

/** The schema in the store is not one that this version can work with. */
export class SchemaVersionError extends LeaseholdError {
  readonly code = "LH_SCHEMA_VERSION";
  readonly found: number;
  readonly known: number;

  constructor(found: number, known: number, store: string) {
    super(
      found > known
        ? `${store} has schema ${found}, and this version of leasehold knows schemas up to ${known}.`
        : `${store} has schema ${found}, and this version of leasehold needs ${known}.`,
      {
        next:
          found > known
            ? "Install the version that migrated it, or a newer one; nothing was changed."
            : "Run `leasehold migrate`, or open the store with migrate: true.",
      },
    );
    this.found = found;
    this.known = known;
  }
}

/** The handle, worker or store was closed before the call. */
export class ClosedError extends LeaseholdError {
  readonly code = "LH_CLOSED";

  constructor(what: string) {
    super(`${what} is closed.`, { next: "Make a new one; a closed one cannot be opened again." });
  }
}

/** What the driver said, in brackets. */
function causeOf(cause: unknown): string {
  const { message, code } = (cause ?? {}) as { message?: unknown; code?: unknown };
  const said = message === undefined || message === "" ? code : message;
  return said === undefined ? "" : ` (${String(said)})`;
}
