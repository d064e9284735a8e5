/** What a handler threw, on its way between processes: an error arrives as an error, with all that is looked at later. */

import { inspect } from "node:util";

const MAX_CAUSES = 8;
const MAX_TEXT = 65_536;
const MAX_MEMBERS = 10;

type Plain = string | number | boolean | null;
/** A member that is looked at later: a plain value, or some of them, such as a refusal's token and mark (D6). */
type Member = Plain | Readonly<Record<string, Plain>>;

export type CarriedError =
  | {
      readonly kind: "error";
      readonly name: string;
      readonly message: string;
      readonly stack: string;
      /** Its own members that are plain: `code` and its like. */
      readonly members: Readonly<Record<string, Member>>;
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

function plainMembers(error: Error): Record<string, Member> {
  const members: Record<string, Member> = {};
  for (const [key, value] of Object.entries(error)) {
    if (key === "name" || key === "message" || key === "stack" || key === "cause") continue;
    if (isPlain(value)) members[key] = cut(value);
    else if (isFlat(value)) members[key] = value;
  }
  return members;
}

function cut(value: Plain): Plain {
  return typeof value === "string" ? value.slice(0, MAX_TEXT) : value;
}

function isFlat(value: unknown): value is Readonly<Record<string, Plain>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const entries = Object.values(value);
  return entries.length <= MAX_MEMBERS && entries.every((one) => isPlain(one) && String(one).length <= 1_000);
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
