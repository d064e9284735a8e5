/** What is kept of a failed attempt: name, message, stack and cause, always storable, whatever was thrown. */

import { inspect } from "node:util";
import type { StoredError } from "../client/job-view.ts";

const MAX_BYTES = 16_384;
const MAX_CAUSES = 3;

/** At most 16 KiB of JSON. */
export function errorJson(thrown: unknown): string {
  for (const budget of [4_096, 1_024, 128]) {
    const text = JSON.stringify(stored(thrown, budget, MAX_CAUSES));
    if (Buffer.byteLength(text) <= MAX_BYTES) return text;
  }
  return JSON.stringify({ name: "Error", message: "The error was too large to keep." });
}

/**
 * Whether the handler asked for no further attempt, with this copy's `FinalError` or another's, or met a step that a further
 * attempt would meet as it is.
 */
export function isFinal(thrown: unknown): boolean {
  const code = memberOf(thrown, "code");
  return code === "LH_FINAL" || code === "LH_STEP_UNKNOWN";
}

/** Whether it is an `UnknownOutcomeError`, or has one as its cause: a destination's, or one that a handler throws itself. */
export function saysOutcomeIsUnknown(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; depth <= MAX_CAUSES; depth++) {
    if (memberOf(error, "code") === "LH_UNKNOWN_OUTCOME") return true;
    error = memberOf(error, "cause");
  }
  return false;
}

function stored(thrown: unknown, budget: number, causes: number): StoredError {
  if (!isErrorLike(thrown)) return { name: "NonError", message: cleaned(described(thrown), budget) };
  const name = memberOf(thrown, "name");
  const message = memberOf(thrown, "message");
  const stack = memberOf(thrown, "stack");
  const cause = memberOf(thrown, "cause");
  return {
    name: cleaned(typeof name === "string" && name !== "" ? name : "Error", 200),
    message: cleaned(typeof message === "string" ? message : described(message), budget),
    ...(typeof stack === "string" ? { stack: cleaned(stack, budget) } : {}),
    ...(cause !== undefined && causes > 0 ? { cause: stored(cause, budget >> 1, causes - 1) } : {}),
  };
}

function isErrorLike(thrown: unknown): boolean {
  try {
    // The second is for errors of another realm.
    return thrown instanceof Error || typeof memberOf(thrown, "stack") === "string";
  } catch {
    return false;
  }
}

/** A member of what was thrown, which may be a trap itself; undefined where there is none. */
export function memberOf(thrown: unknown, key: string): unknown {
  if ((typeof thrown !== "object" && typeof thrown !== "function") || thrown === null) return undefined;
  try {
    return (thrown as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function described(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    return inspect(thrown, { depth: 3, maxStringLength: 1_000, maxArrayLength: 20, breakLength: 120 });
  } catch {
    return `a ${typeof thrown} that cannot be shown`;
  }
}

function cleaned(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return cut.toWellFormed().replaceAll("\0", "\u{fffd}");
}
