import { describe, expect, it } from "vitest";
import type { Fence } from "../../../src/protocol/identity.ts";
import type { Store } from "../../../src/stores/store.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { CALL, claimAll, ids, newJob, storeOn, worldOf } from "./world.ts";

/** Asks again for those that are busy, as a worker does: a claim that looks at a resource may have its lease locked. */
async function completeAll(store: Store, fences: readonly Fence[]): Promise<void> {
  for (let left = fences; left.length > 0; ) {
    const answers = await store.settle(
      left.map((fence) => ({ operation: "complete", fence, result: null })),
      CALL,
    );
    expect(answers.filter(({ outcome }) => outcome !== "applied" && outcome !== "busy")).toEqual([]);
    left = left.filter((_, n) => answers[n]?.outcome === "busy");
  }
}

optional("races on PostgreSQL 18", missingPostgres(18), () => {
  describe("several stores with hints and sweeps as users have them", () => {
    it("drain one queue without claiming a job twice or leaving one behind", async () => {
      const world = await worldOf(18);
      const stores = [storeOn(world), storeOn(world), storeOn(world)];
      const jobs = Array.from({ length: 900 }, (_, n) =>
        newJob({ priority: n % 3, resource: n % 50 === 0 ? "desk" : null }),
      );
      await world.store.enqueue(jobs, CALL);
      const claimed: string[] = [];
      const drain = async (n: number): Promise<void> => {
        const store = stores[n % stores.length] as (typeof stores)[number];
        const owner = ids.owner();
        for (let idle = 0; claimed.length < jobs.length && idle < 200; idle += 1) {
          const fences = await claimAll(store, owner, 20);
          claimed.push(...fences.map(({ jobId }) => jobId));
          await completeAll(store, fences);
          if (fences.length > 0) idle = 0;
        }
      };
      await Promise.all(Array.from({ length: 6 }, (_, n) => drain(n)));
      expect(claimed.length).toBe(900);
      expect(new Set(claimed).size).toBe(900);
    });

    it("sees what takes its place in front of a hint within the sweep's time", async () => {
      const world = await worldOf(18);
      const [here, there] = [storeOn(world, { listen: false }), storeOn(world)];
      await here.enqueue([newJob({ priority: 5 }), newJob({ priority: 5 })], CALL);
      expect(await claimAll(here, ids.owner(), 1)).toHaveLength(1);
      const urgent = newJob({ priority: 1 });
      await there.enqueue([urgent], CALL);
      const seen: string[] = [];
      const deadlineMs = Date.now() + 5_000;
      while (!seen.includes(urgent.jobId) && Date.now() < deadlineMs) {
        seen.push(...(await claimAll(here, ids.owner(), 1)).map(({ jobId }) => jobId));
      }
      expect(seen).toContain(urgent.jobId);
    });
  });

  describe("the jobs of one that has died", () => {
    it("I16 are taken over one after the other, without a wait for the next sweep", async () => {
      const world = await worldOf(18);
      const store = storeOn(world, { sweepMs: 600_000, listen: false });
      const jobs = Array.from({ length: 50 }, () => newJob());
      await world.store.enqueue(jobs, CALL);
      expect(await claimAll(world.store, ids.owner())).toHaveLength(50);
      for (const { jobId } of jobs) await world.lapse(jobId, 60_000);
      const owner = ids.owner();
      const claimed: string[] = [];
      for (let n = 0; n < jobs.length; n += 1) {
        const found = await store.claim({ owner, queues: ["queue"], limit: 1, takeover: true }, CALL);
        claimed.push(...found.jobs.map(({ job }) => job.jobId));
      }
      expect(claimed).toEqual(jobs.map(({ jobId }) => jobId));
    });
  });

  describe("an enqueue of a job that ends meanwhile", () => {
    it("C1 waits for the end to commit, and is told of it", async () => {
      const world = await worldOf(18);
      const { schema, query, store } = world;
      const job = newJob({ mayRepeat: true });
      await store.enqueue([job], CALL);
      const [fence] = await claimAll(store, ids.owner());
      if (fence === undefined) throw new Error("it was not claimed");
      // The end is written and does not commit before the test lets it.
      await query(`create function ${schema}.hold_up() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(1, hashtext('${schema}')); return null; end $$`);
      await query(
        `create trigger hold_up after insert on ${schema}.history execute function ${schema}.hold_up()`,
      );
      try {
        const caller = await world.begin();
        const tx = caller.tx as { query(text: string): Promise<unknown> };
        await tx.query(`select pg_advisory_xact_lock(1, hashtext('${schema}'))`);
        const held = `select pid from pg_locks
                       where not granted and locktype = 'advisory' and objid = hashtext('${schema}')::oid`;
        const behind = `select from pg_stat_activity where (${held}) = any (pg_blocking_pids(pid))`;
        const seen = (text: string) => async () => (await query(text)).length > 0;
        const ending = store.settle([{ operation: "complete", fence, result: null }], CALL);
        await eventually("the end to be held up", seen(held));
        const repeating = store.enqueue([job], CALL);
        await eventually("the enqueue to wait for it", seen(behind));
        await caller.commit();
        expect(await ending).toMatchObject([{ outcome: "applied" }]);
        expect(await repeating).toMatchObject([{ outcome: "repeated", state: "completed" }]);
        expect(await claimAll(store, ids.owner())).toEqual([]);
      } finally {
        await query(`drop function ${schema}.hold_up() cascade`);
      }
    });
  });

  describe("five transactions that enqueue one unique key, of which four roll back", () => {
    it("C17 leave the job of the one that commits, and tell nobody else of a job that is not there", async () => {
      const world = await worldOf(18);
      const callers = await Promise.all(Array.from({ length: 5 }, () => world.begin()));
      const told: { readonly outcome: string; readonly jobId: string }[] = [];
      const ends: Promise<void>[] = [];
      // Each is in the way of those behind it until it ends; the last to be let in commits.
      const enqueuing = callers.map(async ({ tx, commit, rollback }) => {
        const job = newJob({ unique: { key: "one", onConflict: "keep" } });
        const [answer] = await world.store.enqueue([job], { ...CALL, tx });
        if (answer === undefined) throw new Error("each member is answered");
        told.push({ outcome: answer.outcome, jobId: answer.jobId });
        ends.push(told.length < callers.length ? rollback() : commit());
      });
      await Promise.all(enqueuing);
      await Promise.all(ends);
      expect(told.map(({ outcome }) => outcome)).toEqual(Array(5).fill("enqueued"));
      const left = await claimAll(world.store, ids.owner());
      expect(left.map(({ jobId }) => jobId)).toEqual([told.at(-1)?.jobId]);
    });
  });

  describe("a row that somebody else has locked", () => {
    it("makes its member of a batch busy, holds nobody up, and is applied when asked again", async () => {
      const world = await worldOf(18);
      const { store } = world;
      await store.enqueue([newJob(), newJob(), newJob()], CALL);
      const owner = ids.owner();
      const fences = await claimAll(store, owner);
      const caller = await world.begin();
      const tx = caller.tx as { query(text: string, params: unknown[]): Promise<unknown> };
      await tx.query(`select from ${world.schema}.job where job_id = $1 for update`, [fences[1]?.jobId]);
      const outcomes = async (answers: Promise<readonly { outcome: string }[]>) =>
        (await answers).map(({ outcome }) => outcome);
      const settlements = fences.map((fence) => ({ operation: "complete" as const, fence, result: null }));
      expect(await outcomes(store.renew(fences, CALL))).toEqual(["applied", "busy", "applied"]);
      expect(await outcomes(store.settle(settlements, CALL))).toEqual(["applied", "busy", "applied"]);
      await caller.rollback();
      expect(await outcomes(store.settle(settlements, CALL))).toEqual(["already", "applied", "already"]);
    });
  });
});
