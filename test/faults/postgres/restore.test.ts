import { describe, expect, it } from "vitest";
import type { Fence } from "../../../src/protocol/identity.ts";
import type { Store } from "../../../src/stores/store.ts";
import { cli, folder } from "../../cli/support.ts";
import { CALL, ids, newJob } from "../../stores/postgres/world.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, type OwnServer, ownServer } from "../../support/own-server.ts";
import { storeOn } from "./server-world.ts";

/** Claims what is ready, as somebody new. */
async function claimed(store: Store, limit: number): Promise<Fence[]> {
  const owner = ids.owner();
  const { jobs } = await store.claim({ owner, queues: ["queue"], limit, takeover: false }, CALL);
  return jobs.map(({ job: { jobId, generation } }) => ({ jobId, owner, generation }));
}

/** The server again as it was before the last claims, with its old identity; and the claims of before and after the copy. */
async function restored(): Promise<{
  readonly server: OwnServer;
  readonly kept: readonly Fence[];
  readonly forgotten: readonly Fence[];
}> {
  const server = await ownServer(18);
  const before = storeOn(server);
  await before.enqueue([newJob(), newJob(), newJob()], CALL);
  const kept = await claimed(before, 1);
  await server.stop();
  const copy = server.copy();
  await server.start();
  const forgotten = await claimed(before, 2);
  expect([kept.length, forgotten.length]).toEqual([1, 2]);
  await server.stop();
  server.putBack(copy);
  await server.start();
  return { server, kept, forgotten };
}

const tokens = (fences: readonly Fence[]): string[] =>
  fences.map(({ jobId, generation }) => `${jobId} ${generation}`).sort();

optional("a PostgreSQL 18 that was restored from a cold copy", missingOwnServer(18), () => {
  describe("on the same server", () => {
    it("gives generations out again unless the floor is raised: a copy cannot tell that it is one", async () => {
      const { server, forgotten } = await restored();
      expect(tokens(await claimed(storeOn(server), 3))).toEqual(tokens(forgotten));
    });

    it("gives none out again after `leasehold raise-floor`, and leases from before are refused", async () => {
      const { server, kept, forgotten } = await restored();
      const { code, stderr } = await cli(["raise-floor", "--store", server.url], { cwd: folder() });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      const store = storeOn(server);
      expect(await store.renew(kept, CALL)).toMatchObject([{ outcome: "stale", reason: "history" }]);
      const again = await claimed(store, 3);
      expect(again.map(({ jobId }) => jobId).sort()).toEqual(forgotten.map(({ jobId }) => jobId).sort());
      const highest = Math.max(...[...kept, ...forgotten].map(({ generation }) => generation));
      expect(Math.min(...again.map(({ generation }) => generation))).toBeGreaterThan(highest);
      for (const fence of forgotten) {
        const settled = await store.settle([{ operation: "complete", fence, result: null }], CALL);
        expect(settled).toMatchObject([{ outcome: "stale" }]);
      }
    });
  });
});
