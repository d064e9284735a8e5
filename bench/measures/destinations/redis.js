// A number raised, from the call until the answer, on the run's Redis (append-only file synced each second), over one
// connection. Unguarded: INCRBY, the plain command. `in a script`: the same by a script of ours, which is the shape that a
// guarded write has, without a guard in it.

import { Redis } from "ioredis";
import { redisGuard } from "../../../dist/destinations/redis/index.js";
import { inTurns, knownLeases, newLease } from "./ways.js";

const SCRIPT = "return redis.call('INCRBY', KEYS[1], ARGV[1])";

/** @param {import("../../cases.js").Setting} setting @param {{ inFlight: number, forMs: number }} how */
export async function guardedOnRedis({ redis }, how) {
  const { hostname, port } = new URL(redis?.address ?? "");
  const client = new Redis(Number(port), hostname);
  const guard = redisGuard(client, { prefix: "{account}" });
  const keyOf = (/** @type {number} */ lane) => `{account}:${lane}`;
  const guarded = (lease, lane, step = {}) => guard.write(lease, step, [["INCRBY", keyOf(lane), 1]]);
  const leases = knownLeases(how.inFlight);
  try {
    const sha = String(await client.script("LOAD", SCRIPT));
    return await inTurns(
      {
        unguarded: (lane) => client.incrby(keyOf(lane), 1),
        "in a script": (lane) => client.evalsha(sha, 1, keyOf(lane), 1),
        "known line": (lane) => guarded(leases[lane], lane),
        "new line": (lane) => guarded(newLease(), lane),
        "new line, step": (lane) => guarded(newLease(), lane, { step: "credit", request: [lane, 1] }),
      },
      how,
    );
  } finally {
    await guard.close();
    client.disconnect();
    await redis?.empty();
  }
}
