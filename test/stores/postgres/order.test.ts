import { afterEach, beforeEach, expect, it } from "vitest";
import type { NewJob } from "../../../src/protocol/enqueue.ts";
import type { JobId } from "../../../src/protocol/identity.ts";
import { optional } from "../../support/optional.ts";
import { type PostgresWorld, postgresWorld } from "../../support/postgres-harness.ts";
import { missingPostgres, POSTGRES_VERSIONS } from "../../support/postgres-server.ts";
import { CALL, ids, newJob } from "./world.ts";

for (const version of POSTGRES_VERSIONS) {
  optional(`who waits for whom, on PostgreSQL ${version}`, missingPostgres(version), () => {
    let world: PostgresWorld;
    beforeEach(async () => {
      world = await postgresWorld(version);
    });
    afterEach(() => world.close());

    const after = (id: JobId): NewJob => newJob({ after: { ids: [id], onFailure: "run" } });

    const claimed = async (): Promise<JobId[]> => {
      const request = { owner: ids.owner(), queues: ["queue"], limit: 10, takeover: true };
      return (await world.store.claim(request, CALL)).jobs.map(({ job }) => job.jobId);
    };

    /** Completes the one job that can be claimed. */
    const completeOne = async (): Promise<void> => {
      const request = { owner: ids.owner(), queues: ["queue"], limit: 1, takeover: false };
      const [one] = (await world.store.claim(request, CALL)).jobs;
      if (one === undefined) throw new Error("there is a job");
      const { jobId, owner, generation } = one.job;
      const fence = { jobId, owner, generation };
      const answers = await world.store.settle([{ operation: "complete", fence, result: null }], CALL);
      expect(answers).toMatchObject([{ outcome: "applied" }]);
    };

    it("lets nobody who ends a job wait for a transaction that has the one behind it, which a sweep frees then", async () => {
      const first = newJob();
      const second = after(first.jobId);
      await world.store.enqueue([first, second], CALL);
      const caller = await world.begin();
      await world.store.enqueue([after(second.jobId)], { ...CALL, tx: caller.tx });
      await completeOne();
      expect(await claimed()).toEqual([]);
      await caller.commit();
      expect(await claimed()).toEqual([second.jobId]);
    });

    it("finds a blocked job that was left behind, whatever has become of the note of it", async () => {
      const first = newJob();
      const second = after(first.jobId);
      await world.store.enqueue([first, second], CALL);
      // An end that frees nobody, as no release of this code makes it.
      await world.query(`update ${world.schema}.job set tail = null where job_id = $1`, [first.jobId]);
      await completeOne();
      expect(await claimed()).toEqual([second.jobId]);
    });

    it("counts no member twice, whoever folds the lines of a batch at the same moment", async () => {
      const member = (): NewJob => newJob({ batch: { name: "b", as: "member" } });
      await world.store.enqueue(
        Array.from({ length: 30 }, () => member()),
        CALL,
      );
      const stores = [world.store, await world.another()];
      const request = { owner: ids.owner(), queues: ["queue"], limit: 30, takeover: false };
      const { jobs } = await world.store.claim(request, CALL);
      await Promise.all(
        jobs.map(({ job: { jobId, owner, generation } }, n) =>
          stores[n % 2]?.settle(
            [{ operation: "complete", fence: { jobId, owner, generation }, result: null }],
            CALL,
          ),
        ),
      );
      await claimed(); // which sweeps
      const [row] = await world.query(`select total, completed from ${world.schema}.batch`);
      expect([Number(row?.["total"]), Number(row?.["completed"])]).toEqual([30, 30]);
      expect(await world.query(`select from ${world.schema}.batch_line`)).toEqual([]);
    });
  });
}
