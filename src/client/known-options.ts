import { InvalidArgumentError } from "../errors.ts";

/**
 * A misspelt option would be ignored in silence, and `delay` instead of `delayMs` run a job at once.
 *
 * @throws {InvalidArgumentError} when `options` is no object, or has a member that is not among `known`
 */
export function checkKnown(what: string, options: object, known: ReadonlySet<string>): void {
  if (typeof options !== "object" || options === null) {
    throw new InvalidArgumentError(what, options, `an object with some of ${listed(known)}`);
  }
  for (const name in options) {
    if (!known.has(name)) throw new InvalidArgumentError(what, name, `options named ${listed(known)}`);
  }
}

/** @throws {InvalidArgumentError} unless `value` can be called */
export function checkFunction(what: string, value: unknown): void {
  if (typeof value !== "function") throw new InvalidArgumentError(what, value, "a function");
}

function listed(known: ReadonlySet<string>): string {
  return [...known].join(", ");
}
