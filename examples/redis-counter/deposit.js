// The job and the guard, the same in both workers.

import { defineJob } from "leasehold";
import { redisGuard } from "leasehold/destinations/redis";

/** @param {string} url */
export function counterGuard(url) {
  return redisGuard(url, { prefix: "{accounts}:fence" });
}

/**
 * @param {(lease: import("leasehold/destinations/redis").EffectLease,
 *   effect: import("leasehold/destinations/redis").EffectOptions,
 *   commands: import("leasehold/destinations/redis").RedisCommand[]) => Promise<unknown>} write the guard's
 */
export function depositJob(write) {
  return defineJob({
    name: "deposit",
    leaseMs: 1_000, // short, so that it is soon taken over
    /** @param {import("leasehold").RunContext<{ account: string, amount: number }>} context */
    async run({ input: { account, amount }, lease }) {
      const replies = await write(lease, { step: "deposit", request: { account, amount } }, [
        ["INCRBY", `{accounts}:${account}`, amount],
      ]);
      return { balance: /** @type {number[]} */ (replies)[0] };
    },
  });
}
