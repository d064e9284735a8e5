/// <reference lib="es2024.string" />

/** Checks of what callers choose: names, counts and moments. */

import { InvalidArgumentError } from "../errors.ts";
import { LAST_MOMENT_MS } from "../protocol/job.ts";
import { OWN_LEASES } from "../protocol/limit.ts";

export const MAX_NAME_BYTES = 255;

/** @throws {InvalidArgumentError} unless `name` is 1 to 255 bytes of well-formed text without NUL */
export function checkName(argument: string, name: string): void {
  const usable =
    typeof name === "string" &&
    name.length > 0 &&
    (name.length * 3 <= MAX_NAME_BYTES || Buffer.byteLength(name) <= MAX_NAME_BYTES) &&
    !name.includes("\0") &&
    name.isWellFormed();
  if (!usable) {
    throw new InvalidArgumentError(
      argument,
      name,
      `a text of 1 to ${MAX_NAME_BYTES} bytes without NUL and without half surrogate pairs`,
    );
  }
}

/** @throws {InvalidArgumentError} unless `name` can be that of a caller's named lease */
export function checkLeaseName(argument: string, name: string): void {
  checkName(argument, name);
  if (name.startsWith(OWN_LEASES)) {
    throw new InvalidArgumentError(
      argument,
      name,
      `a name that does not begin with ${OWN_LEASES}, which is for our own`,
    );
  }
}

/** @throws {InvalidArgumentError} unless `count` is a whole number from 1 to 2^31 − 1 */
export function checkCount(argument: string, count: number): void {
  if (!Number.isInteger(count) || count < 1 || count > 2 ** 31 - 1) {
    throw new InvalidArgumentError(argument, count, "a whole number from 1 to 2^31 − 1");
  }
}

/** @throws {InvalidArgumentError} unless `priority` is a 32-bit integer */
export function checkPriority(priority: number): void {
  if (!Number.isInteger(priority) || Math.abs(priority) > 2 ** 31 - 1) {
    throw new InvalidArgumentError(
      "priority",
      priority,
      "a whole number from −(2^31 − 1) to 2^31 − 1; lower runs first",
    );
  }
}

/** @throws {InvalidArgumentError} unless `ms` is a finite length of time of 0 or more that ends before the year 10000 */
export function checkDelayMs(argument: string, ms: number, wallMs: number): void {
  if (typeof ms !== "number" || !(ms >= 0 && wallMs + ms <= LAST_MOMENT_MS)) {
    throw new InvalidArgumentError(argument, ms, "milliseconds from 0 up, ending before the year 10000");
  }
}

/** The moment in whole ms since 1970. @throws {InvalidArgumentError} unless it lies between 1970 and the year 9999 */
export function momentMs(argument: string, moment: Date | number): number {
  const ms = typeof moment === "number" ? moment : moment instanceof Date ? moment.getTime() : Number.NaN;
  if (!(ms >= 0 && ms <= LAST_MOMENT_MS)) {
    throw new InvalidArgumentError(
      argument,
      moment,
      "a Date, or milliseconds since 1970, before the year 10000",
    );
  }
  return Math.ceil(ms);
}
