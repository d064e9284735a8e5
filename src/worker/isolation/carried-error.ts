/** What a handler threw, on its way between processes: an error arrives as an error, with all that is looked at later. */

import { inspect } from "node:util";

const MAX_CAUSES = 8;
const MAX_TEXT = 65_536;

type Plain = string | number | boolean | null;

export type CarriedError =
  | {
      readonly kind: "error";
      readonly name: string;
      readonly message: string;
      readonly stack: string;
      /** Its own members that are plain values: `code` and its like. */
      readonly members: Readonly<Record<string, Plain>>;
      readonly cause: CarriedError | undefined;
    }
  | { readonly kind: "value"; readonly value: Plain }
  | { readonly kind: "undefined" };

/** Never throws, whatever `thrown` is. */
export function carried(thrown: unknown, causes: number = MAX_CAUSES): CarriedError {
  if (thrown === undefined) return { kind: "undefined" };
  if (isPlain(thrown)) return { kind: "value", value: thrown };
  try {
    if (!(thrown instanceof Error) && typeof (thrown as Error).stack !== "string")
      return { kind: "value", value: described(thrown) };
    const error = thrown as Error;
    return {
      kind: "error",
      name: String(error.name),
      message: String(error.message).slice(0, MAX_TEXT),
      stack: String(error.stack ?? "").slice(0, MAX_TEXT),
      members: plainMembers(error),
      cause: error.cause === undefined || causes === 0 ? undefined : carried(error.cause, causes - 1),
    };
  } catch {
    return { kind: "value", value: described(thrown) };
  }
}

/** Of no class but `Error`: classes are told apart by `name` and `code`. */
export function arrived(carried: CarriedError): unknown {
  if (carried.kind === "undefined") return undefined;
  if (carried.kind === "value") return carried.value;
  const cause = carried.cause;
  const error = new Error(carried.message, cause === undefined ? {} : { cause: arrived(cause) });
  Object.defineProperty(error, "name", { value: carried.name, configurable: true, writable: true });
  if (carried.stack === "") delete error.stack;
  else error.stack = carried.stack;
  return Object.assign(error, carried.members);
}

function plainMembers(error: Error): Record<string, Plain> {
  const members: Record<string, Plain> = {};
  for (const [key, value] of Object.entries(error)) {
    if (key !== "name" && key !== "message" && key !== "stack" && key !== "cause" && isPlain(value))
      members[key] = typeof value === "string" ? value.slice(0, MAX_TEXT) : value;
  }
  return members;
}

/** What JSON carries as it is. */
function isPlain(value: unknown): value is Plain {
  return (
    value === null ||
    typeof value === "string" ||
    typeof value === "boolean" ||
    (typeof value === "number" && Number.isFinite(value))
  );
}

function described(thrown: unknown): string {
  try {
    return inspect(thrown, { depth: 3, maxStringLength: 1_000, maxArrayLength: 20, breakLength: 120 });
  } catch {
    return `a ${typeof thrown} that cannot be shown`;
  }
}
