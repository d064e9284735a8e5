/**
 * What may be stored, and as what text. A value is accepted only if `JSON.parse` of the text gives the same value back
 * on every store: nothing is dropped or changed in silence. Two exceptions, both JSON's own habit: a property whose
 * value is `undefined` is left out, and a bare `undefined` is stored as `null`.
 */

import { InvalidArgumentError, UnstorableValueError } from "../errors.ts";

/** Deeper nesting is refused: some JSON parsers of databases stop at 1,000. */
export const MAX_DEPTH = 500;
/** The longest JSON text of an input or result, in bytes, unless `maxInputBytes` says otherwise. */
export const DEFAULT_MAX_INPUT_BYTES = 1_048_576;

interface Problem {
  /** From the value inwards, the nearest last. */
  readonly path: (string | number)[];
  readonly what: string;
  readonly next: string;
}

/**
 * The JSON text of `value`; `root` is what error messages call it (`input`, `result`).
 *
 * @throws {UnstorableValueError} with the path to what would not survive, or when the text is longer than `maxBytes`
 */
export function storableJson(value: unknown, root: string, maxBytes: number): string {
  if (value === undefined || value === null) return "null";
  const problem = problemIn(value, 0);
  if (problem !== undefined) throw refused(root, value, problem);
  const text = JSON.stringify(value);
  if (text.length * 3 > maxBytes) {
    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes) {
      throw new UnstorableValueError(
        root,
        `its JSON text has ${bytes} bytes, and ${maxBytes} are allowed`,
        "Store it elsewhere and pass a reference, or raise maxInputBytes.",
      );
    }
  }
  return text;
}

/** The same for what a handler or a step returned; null for nothing. */
export function resultText(value: unknown, maxBytes: number, root = "result"): string | null {
  return value === undefined ? null : storableJson(value, root, maxBytes);
}

/** @throws {InvalidArgumentError} unless `bytes` is a usable limit */
export function checkMaxBytes(bytes: number): void {
  if (!Number.isSafeInteger(bytes) || bytes < 1)
    throw new InvalidArgumentError("maxInputBytes", bytes, "whole bytes from 1 up");
}

function problemIn(value: unknown, depth: number): Problem | undefined {
  switch (typeof value) {
    case "string":
      return problemInText(value, "the text");
    case "boolean":
      return undefined;
    case "number":
      if (Object.is(value, -0))
        return problem("it is -0, which would come back as 0", "Pass 0, or add 0 to it.");
      if (Number.isFinite(value)) return undefined;
      return problem(`it is ${value}, which JSON does not know`, "Pass null or a text.");
    case "bigint":
      return problem("it is a BigInt", "Pass it as a text, or as a number if it is a safe integer.");
    case "function":
    case "symbol":
      return problem(`it is a ${typeof value}`, "Pass what it stands for as plain data.");
    case "object":
      if (value === null) return undefined;
      if (depth >= MAX_DEPTH) return problem(`it is nested deeper than ${MAX_DEPTH} levels`, "Flatten it.");
      return Array.isArray(value) ? problemInArray(value, depth) : problemInObject(value, depth);
    default:
      return problem("it is undefined", "Pass null, or leave it out.");
  }
}

function problemInArray(array: readonly unknown[], depth: number): Problem | undefined {
  for (let i = 0; i < array.length; i++) {
    const found = problemIn(array[i], depth + 1);
    if (found !== undefined) return within(found, i);
  }
  return undefined;
}

function problemInObject(object: object, depth: number): Problem | undefined {
  if (!isPlain(object)) {
    const kind = object.constructor?.name || "class instance";
    if (object instanceof Date) return problem("it is a Date", "Pass date.toISOString() or date.getTime().");
    return problem(
      `it is a ${kind}, which would come back as something else`,
      "Pass plain objects and arrays.",
    );
  }
  for (const key of Object.keys(object)) {
    const member = (object as Record<string, unknown>)[key];
    if (member === undefined) continue;
    if (key === "__proto__") return within(problem("this key is not safe to carry", "Rename it."), key);
    const found = problemInText(key, "the key") ?? problemIn(member, depth + 1);
    if (found !== undefined) return within(found, key);
  }
  if (Object.getOwnPropertySymbols(object).length > 0)
    return problem("it has a symbol as key", "Use texts as keys.");
  return undefined;
}

/** An object literal, of this realm or another; or one without a prototype, which comes back as a literal. */
function isPlain(object: object): boolean {
  const prototype = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

function problemInText(text: string, what: string): Problem | undefined {
  if (text.includes("\0"))
    return problem(`${what} contains NUL (\\u0000)`, "Remove it, or pass the text in base64.");
  if (!text.isWellFormed())
    return problem(`${what} contains half a surrogate pair`, "Call toWellFormed() on it.");
  return undefined;
}

function problem(what: string, next: string): Problem {
  return { path: [], what, next };
}

function within(found: Problem, key: string | number): Problem {
  found.path.push(key);
  return found;
}

function refused(root: string, value: unknown, found: Problem): UnstorableValueError {
  const keys = found.path.reverse();
  const cycle = keys.length >= MAX_DEPTH ? firstCycle(value, keys) : undefined;
  if (cycle !== undefined) {
    return new UnstorableValueError(
      pathText(root, cycle),
      "it contains itself",
      "Break the cycle, or pass ids.",
    );
  }
  return new UnstorableValueError(pathText(root, keys), found.what, found.next);
}

/** The shortest beginning of `keys` that leads back to something on the way. */
function firstCycle(value: unknown, keys: readonly (string | number)[]): (string | number)[] | undefined {
  const seen = new Set<unknown>([value]);
  let at = value;
  for (let i = 0; i < keys.length; i++) {
    at = (at as Record<string | number, unknown>)[keys[i] as string | number];
    if (seen.has(at)) return keys.slice(0, i + 1);
    seen.add(at);
  }
  return undefined;
}

const SHOWN_KEYS = 20;

function pathText(root: string, keys: readonly (string | number)[]): string {
  let text = root;
  for (const key of keys.slice(0, SHOWN_KEYS)) {
    if (typeof key === "number") text += `[${key}]`;
    else text += /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  }
  return keys.length > SHOWN_KEYS ? `${text}…` : text;
}
