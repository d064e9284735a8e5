import { describe, expect, inject, it, onTestFinished } from "vitest";
import { EPOCH_SIZE } from "../../../src/protocol/floor.ts";
import type { Fence, Owner } from "../../../src/protocol/identity.ts";
import type { Store } from "../../../src/stores/store.ts";
import { CALL, ids, newJob } from "../../stores/postgres/world.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, ownServer } from "../../support/own-server.ts";
import { postgresServer } from "../../support/postgres-server.ts";
import { fencedTable } from "./fenced-table.ts";
import { storeOn } from "./server-world.ts";
import { caughtUp, makeLag } from "./standby-world.ts";

async function claimOne(store: Store, owner: Owner, queue: string): Promise<Fence> {
  const { jobs } = await store.claim({ owner, queues: [queue], limit: 1, takeover: true }, CALL);
  if (jobs[0] === undefined) throw new Error(`a job waits in ${queue}`);
  return { jobId: jobs[0].job.jobId, owner, generation: jobs[0].job.generation };
}

/** What the owners hold, for the message of a failed test; printed with `LEASEHOLD_SHOW=1`. */
function logOf(lines: readonly string[]): string {
  const log = lines.join("\n");
  if (process.env["LEASEHOLD_SHOW"] === "1") process.stdout.write(`${log}\n`);
  return log;
}

for (const version of [15, 18] as const) {
  optional(`failover of PostgreSQL ${version} that loses writes`, missingOwnServer(version), () => {
    describe("a standby that is promoted without the last claims", () => {
      it("D2 gives them to others at higher generations, whose writes win; the old owners are refused", async () => {
        const primary = await ownServer(version);
        const before = storeOn(primary);
        // A queue each, so that it is known who claims what.
        const jobs = [newJob({ queue: "kept" }), newJob({ queue: "first" }), newJob({ queue: "second" })];
        await before.enqueue(jobs, CALL);
        const kept = await claimOne(before, ids.owner(), "kept");
        const standby = await primary.standby();
        await caughtUp(primary, standby);
        await makeLag(primary);
        const a = ids.owner();
        const lost = [await claimOne(before, a, "first"), await claimOne(before, a, "second")];
        await primary.kill("all");
        await standby.promote();

        const after = storeOn(standby);
        const b = ids.owner();
        const again = [await claimOne(after, b, "first"), await claimOne(after, b, "second")];
        const log = logOf([
          `PostgreSQL ${version}`,
          ...lost.map(({ generation }) => `A claimed at generation ${generation}: lost with the primary`),
          ...again.map(({ generation }) => `B claimed the same job at ${generation} from the new one`),
        ]);
        for (const [n, { jobId, generation }] of again.entries()) {
          expect(jobId, log).toBe(lost[n]?.jobId);
          expect(generation, log).toBeGreaterThan(lost[n]?.generation ?? Number.POSITIVE_INFINITY);
          expect(generation, log).toBe(EPOCH_SIZE + 1);
        }

        // What A and B do outside the store, where both are believed until the higher token has come.
        const table = await fencedTable(await postgresServer(18, inject("servers")));
        onTestFinished(() => table.drop());
        const [a1, a2] = lost as [Fence, Fence];
        const [b1, b2] = again as [Fence, Fence];
        const first = [await table.write(b1, "B"), await table.write(a1, "A, late")];
        expect(first, log).toEqual(["admitted", "refused"]);
        const second = [
          await table.write(a2, "A"),
          await table.write(b2, "B"),
          await table.write(a2, "A, late"),
        ];
        expect(second, log).toEqual(["admitted", "admitted", "refused"]);
        expect([await table.read(b1), await table.read(b2)], log).toEqual(["B", "B"]);

        for (const fence of lost) {
          const settled = await after.settle([{ operation: "complete", fence, result: null }], CALL);
          expect(settled, log).toMatchObject([{ outcome: "stale" }]);
        }
        // This claim had arrived, and nobody has taken the job over: it is the timeline that speaks against it.
        const history = [{ outcome: "stale", reason: "history", generation: kept.generation }];
        expect(await after.renew([kept], CALL), log).toMatchObject(history);
        const complete = { operation: "complete", fence: kept, result: null } as const;
        expect(await after.settle([complete], CALL), log).toMatchObject(history);
        for (const fence of again) {
          const settled = await after.settle([{ operation: "complete", fence, result: null }], CALL);
          expect(settled, log).toMatchObject([{ outcome: "applied" }]);
        }
      });

      it("C19 D2 are not given to the same generations by the old primary, which is never lifted into the new one's epoch", async () => {
        const primary = await ownServer(version);
        const before = storeOn(primary);
        const job = newJob();
        await before.enqueue([job], CALL);
        const standby = await primary.standby();
        await caughtUp(primary, standby);
        await primary.kill("all");
        await standby.promote();
        const after = storeOn(standby);
        const b = await claimOne(after, ids.owner(), "queue");
        expect(b.generation).toBe(EPOCH_SIZE + 1);

        await primary.start();
        const zombie = storeOn(primary);
        const a = await claimOne(zombie, ids.owner(), "queue");
        const answer = { outcome: "too_high", generation: a.generation };
        expect(await zombie.heal(a, b.generation, CALL)).toMatchObject(answer);
        await zombie.settle([{ operation: "fail", fence: a, error: "refused", retryInMs: 0 }], CALL);
        const again = await claimOne(zombie, ids.owner(), "queue");
        expect(again.generation).toBe(a.generation + 1);
      });
    });
  });
}
