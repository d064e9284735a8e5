import type { StoredError } from "../index.ts";

/** A stored error in one line; empty when there was none. */
export function errorLine(error: StoredError | undefined): string {
  return error === undefined ? "" : (`${error.name}: ${error.message}`.split("\n", 1)[0] ?? "");
}
