/**
 * The account that `demo` and `drill` write to: the place where an effect lands, behind one of the kits. Each kind of
 * destination is a file beside this one, and a line in `kinds.ts`.
 */

import type { Destination, EffectLease } from "../../destinations/destination.ts";
import type { KindName } from "./kinds.ts";

/** What a write adds to the account. */
export interface Entry {
  /** Of the lease with which it was written. */
  readonly line: string;
  /** Of the owner who wrote it. */
  readonly generation: number;
  readonly cents: number;
}

export function entryOf({ token }: EffectLease, cents: number): Entry {
  return { line: token.line, generation: token.generation, cents };
}

export interface Account {
  readonly destination: Pick<Destination, "level" | "probe">;
  /** @throws {StaleTokenError} a later owner has been here */
  credit(lease: EffectLease, cents: number): Promise<unknown>;
  /** What has landed, whoever wrote it; on each line in the order in which it landed. */
  entries(): Promise<readonly Entry[]>;
  /** Takes away what lies outside the folder. */
  remove?(): Promise<unknown>;
  close(): Promise<unknown>;
}

/** All that a process needs to find the account; as JSON it goes to the processes that write. */
export interface AccountPlace {
  readonly kind: KindName;
  /** Of the server, for the kinds that need one; else empty. */
  readonly address: string;
  /** The command's own, removed at its end. */
  readonly folder: string;
  /** Where the command's own service listens; empty for a kind that needs none and a command that starts none. */
  readonly service: string;
  /** Nobody else's on a server that has other data: letters, digits and `_`. */
  readonly name: string;
}

/** Opens the account, and makes it where it is not there yet. Each process has a handle of its own. */
export type OpenAccount = (place: AccountPlace) => Promise<Account>;
