import type { NamedFence, Owner } from "../protocol/identity.ts";
import type { NamedLeaseRefusal } from "../protocol/named-lease.ts";
import type { Refusal } from "../protocol/outcome.ts";

/** What the thread starts with. */
export interface ThreadData {
  readonly table: SharedArrayBuffer;
  /** Whose jobs; undefined for named leases. */
  readonly owner: Owner | undefined;
  readonly maxBlockedMs: number;
  /** The module whose `openRenewal(options)` opens the thread's own connection. */
  readonly module: string;
  readonly options: Readonly<Record<string, unknown>>;
}

export type ToThread =
  | { readonly kind: "table"; readonly table: SharedArrayBuffer }
  | { readonly kind: "named"; readonly slot: number; readonly version: number; readonly fence: NamedFence }
  | { readonly kind: "wake" }
  | { readonly kind: "renewNow"; readonly call: number }
  | { readonly kind: "close" };

export type FromThread =
  | {
      readonly kind: "refused";
      readonly slot: number;
      readonly version: number;
      readonly refusal: Refusal | NamedLeaseRefusal;
    }
  | { readonly kind: "cancel"; readonly slot: number; readonly version: number }
  | { readonly kind: "renewedNow"; readonly call: number; readonly problem: string | undefined };
