/** A client on the store that the flags name, for as long as one command takes. */

import type { Leasehold } from "../index.ts";
import type { StoreFlags } from "./options.ts";
import { storeAt, storeLocation } from "./store-url.ts";

/** The deadline of the store calls that the command line makes itself. */
export const CALL: { readonly timeoutMs: number } = { timeoutMs: 5_000 };

export async function withLeasehold<T>(
  flags: StoreFlags,
  options: { readonly create: boolean },
  act: (leasehold: Leasehold) => Promise<T>,
): Promise<T> {
  const store = await storeAt(storeLocation(flags.store), options);
  const { Leasehold } = await import("../index.ts");
  const leasehold = new Leasehold({ store });
  try {
    await leasehold.open();
    return await act(leasehold);
  } finally {
    await leasehold.close();
  }
}
