/**
 * The names by which the protocol knows things (section 1). All are branded, so that a job id is never taken for an
 * owner, nor a plain number for a generation.
 */

import { validate } from "uuid";
import { InvalidArgumentError } from "../errors.ts";

declare const brand: unique symbol;

/** A job's identity for ever: a lower-case UUID made by the client. Never reused; says nothing about order. */
export type JobId = string & { readonly [brand]: "JobId" };
/** Who holds a lease: random per worker instance, or per acquisition of a named lease. */
export type Owner = string & { readonly [brand]: "Owner" };
/** The order of ownership on one line: rises at every claim, never falls, is never given out twice. */
export type Generation = number & { readonly [brand]: "Generation" };
/** What a token's generation is compared on: `job:<job_id>` or `lease:<name>`. */
export type Line = string & { readonly [brand]: "Line" };

/** What a write to the store carries: without the matching owner *and* generation it changes nothing (C5 to C8). */
export interface Fence {
  readonly jobId: JobId;
  readonly owner: Owner;
  readonly generation: Generation;
}

/** The same for a named lease. */
export interface NamedFence {
  readonly name: string;
  readonly owner: Owner;
  readonly generation: Generation;
}

/** What an effect carries to its destination (section 5). Generations of different lines have no order between them. */
export interface FencingToken {
  readonly line: Line;
  readonly generation: Generation;
  readonly owner: Owner;
}

/** @throws {InvalidArgumentError} when `text` is not a UUID */
export function jobId(text: string): JobId {
  if (!validate(text)) {
    throw new InvalidArgumentError("jobId", text, "a UUID such as 0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11");
  }
  return text.toLowerCase() as JobId;
}

/** @throws {InvalidArgumentError} when `text` is empty or longer than 255 bytes */
export function owner(text: string): Owner {
  if (typeof text !== "string" || text.length === 0 || Buffer.byteLength(text) > 255) {
    throw new InvalidArgumentError("owner", text, "a text of 1 to 255 bytes");
  }
  return text as Owner;
}

/**
 * @throws {InvalidArgumentError} when `value` is not a whole number from 0 to 2^53 − 1: past that, two generations
 *   could compare as equal
 */
export function generation(value: number): Generation {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new InvalidArgumentError("generation", value, "a whole number from 0 to 2^53 − 1");
  }
  return value as Generation;
}

export function jobLine(id: JobId): Line {
  return `job:${id}` as Line;
}

/** Whose effects these are, over all attempts and owners of one run: what D4's key begins with. */
export function effectScope(id: JobId, run: number): string {
  return `${jobLine(id)}/${run}`;
}

export function leaseLine(name: string): Line {
  return `lease:${name}` as Line;
}
