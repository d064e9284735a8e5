/**
 * The account that the story is about: the place where its effect lands, behind one of the kits. Each kind of destination
 * is a file beside this one, and a line in `kinds.ts`.
 */

import type { Destination, EffectLease } from "../../../destinations/destination.ts";
import type { KindName } from "./kinds.ts";

/** What a write adds to the account. */
export interface Entry {
  /** Of the owner who wrote it. */
  readonly generation: number;
  readonly cents: number;
}

export interface Account {
  readonly destination: Pick<Destination, "level" | "probe">;
  /** @throws {StaleTokenError} a later owner has been here */
  credit(lease: EffectLease, cents: number): Promise<unknown>;
  /** What has landed, whoever wrote it. */
  entries(): Promise<readonly Entry[]>;
  /** Takes away what lies outside the demo's folder. */
  remove?(): Promise<unknown>;
  close(): Promise<unknown>;
}

/** All that a process needs to find the account; as JSON it goes to the players. */
export interface AccountPlace {
  readonly kind: KindName;
  /** Of the server, for the kinds that need one; else empty. */
  readonly address: string;
  /** The demo's own, removed at its end. */
  readonly folder: string;
  /** Where the demo's own service listens. */
  readonly service: string;
  /** Nobody else's on a server that has other data: letters, digits and `_`. */
  readonly name: string;
}

/** Opens the account, and makes it where it is not there yet. Each process has a handle of its own. */
export type OpenAccount = (place: AccountPlace) => Promise<Account>;
