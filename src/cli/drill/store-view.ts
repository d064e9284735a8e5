import { UnknownOutcomeError } from "../../errors.ts";
import type { CallOptions, Store } from "../../stores/store.ts";

export interface ViewFaults {
  /** No renewal gets an answer. */
  readonly losesRenewals?: boolean;
  /** The first answer to a settling is lost: what was asked for has been done. */
  readonly losesSettling?: boolean;
}

/** A worker's store with faults on the way there, and what the worker was told by it. */
export interface StoreView {
  readonly store: Store;
  hasClaimed(): boolean;
  /** The outcomes of all settlings, those too that the worker did not hear of. */
  readonly settled: readonly string[];
}

/**
 * What a worker does beside its runs is left out: nothing of others is pruned, and closing a worker leaves the store open
 * for the next one.
 */
export function viewOf(store: Store, faults: ViewFaults): StoreView {
  const settled: string[] = [];
  let hasClaimed = false;
  const lost = (operation: string): UnknownOutcomeError =>
    new UnknownOutcomeError(operation, new Error("the drill has lost the answer"));

  const inFront: Partial<Store> = {
    async claim(request, options) {
      const claimed = await store.claim(request, options);
      hasClaimed ||= claimed.jobs.length > 0;
      return claimed;
    },
    async settle(settlements, options) {
      const answers = await store.settle(settlements, options);
      settled.push(...answers.map(({ outcome }) => outcome));
      if (faults.losesSettling && settled.length === answers.length) throw lost("settle");
      return answers;
    },
    renew: (fences, options: CallOptions) =>
      faults.losesRenewals ? Promise.reject(lost("renew")) : store.renew(fences, options),
    prune: async () => 0,
    close: async () => {},
  };
  const seen = new Proxy(store, {
    get(target, property): unknown {
      const own = Reflect.get(inFront, property);
      if (own !== undefined) return own;
      const member: unknown = Reflect.get(target, property);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { store: seen, hasClaimed: () => hasClaimed, settled };
}
