import { defineJob, type LogEntry } from "leasehold";
import { describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { commitOf, statement } from "../../support/postgres-statements.ts";
import { callTimeoutMs, faultWorld } from "./world.ts";

const losses = [
  { what: "reply", by: "reset", bodies: 1 },
  { what: "reply", by: "silence", bodies: 1 },
  { what: "request", by: "reset", bodies: 2 },
  { what: "request", by: "silence", bodies: 2 },
] as const;

optional("completions lost on the way to PostgreSQL 18", missingPostgres(18), () => {
  describe.each(losses)("a completion whose $what is lost, by $by", ({ what, by }) => {
    it("C11 is unknown, and repeated until it is known: the job has ended once", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const log: LogEntry[] = [];
      const client = world.client(proxy.url, {
        callTimeoutMs: callTimeoutMs(by),
        log: (entry) => log.push(entry),
      });
      await client.open();
      let runs = 0;
      const job = defineJob({ name: "job", run: () => ++runs });
      const { jobId } = await world.bystander.enqueue(job);
      const lost = proxy.lose(what, statement(world.schema, "complete plain", "complete"), by);
      const worker = client.work([job]);
      await lost;
      await eventually("the worker to know", () => worker.counts.completed > 0);
      await worker.stop();
      expect(await world.ended(jobId)).toMatchObject({ state: "completed", result: 1, generation: 1 });
      expect(worker.counts).toMatchObject({ completed: 1, lost: 0 });
      expect(log).toMatchObject([{ kind: "settle_repeated", error: { code: "LH_UNKNOWN_OUTCOME" } }]);
      const kinds = (await world.bystander.journal(jobId)).map(({ kind }) => kind);
      expect(kinds).toEqual(["enqueued", "claimed", "completed"]);
    });
  });

  describe.each(losses)("the commit of job.complete whose $what is lost, by $by", ({ what, by, bodies }) => {
    it("C11 is asked for by outcome(fence): what was done stands, what was not is done anew as a whole", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const client = world.client(proxy.url, { callTimeoutMs: callTimeoutMs(by) });
      await client.open();
      let begun = 0;
      const job = defineJob({
        name: "job",
        run: ({ job }) =>
          job.complete(async (tx) => {
            begun += 1;
            await tx.query(`insert into ${world.schema}.note values ($1, '')`, [`${job.id} ${begun}`]);
            return "written";
          }),
      });
      const { jobId } = await world.bystander.enqueue(job);
      const lost = proxy.lose(what, commitOf(world.schema, "complete"), by);
      const worker = client.work([job]);
      await lost;
      await eventually("the worker to know", () => worker.counts.completed > 0);
      await worker.stop();
      expect(await world.ended(jobId)).toMatchObject({ result: "written", generation: 1, attempt: 1 });
      expect(worker.counts).toMatchObject({ completed: 1, lost: 0 });
      expect(begun).toBe(bodies);
      expect(await world.query(`select key from ${world.schema}.note`)).toEqual([
        { key: `${jobId} ${bodies}` },
      ]);
    });
  });
});
