import { defineJob } from "leasehold";
import { describe, expect, it } from "vitest";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { statement } from "../../support/postgres-statements.ts";
import { gate } from "../../worker/world.ts";
import { faultWorld } from "./world.ts";

const losses = [
  { what: "reply", by: "reset" },
  { what: "reply", by: "silence" },
  { what: "request", by: "reset" },
  { what: "request", by: "silence" },
] as const;

optional("renewals lost on the way to PostgreSQL 18", missingPostgres(18), () => {
  describe.each(losses)("a renewal whose $what is lost, by $by", ({ what, by }) => {
    it("C11 is repeated soon enough for the run to keep its lease", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const client = world.client(proxy.url);
      await client.open();
      const [begun, end] = [gate(), gate()];
      const job = defineJob({
        name: "job",
        leaseMs: 2_000,
        async run({ lease, signal }) {
          begun.open();
          await end.promise;
          return { state: lease.state, aborted: signal.aborted };
        },
      });
      const { jobId } = await world.bystander.enqueue(job);
      const worker = client.work([job]);
      await begun.promise;
      await proxy.lose(what, statement(world.schema, "renew"), by);
      const { leaseUntilMs } = await world.row(jobId);
      await world.renewedBeyond(leaseUntilMs, jobId);
      end.open();
      const result = { state: "held", aborted: false };
      expect(await world.ended(jobId)).toMatchObject({ result, generation: 1, attempt: 1 });
      await worker.stop();
      expect(worker.counts).toMatchObject({ completed: 1, lost: 0 });
    });
  });

  describe("a renewer thread whose first request is lost", () => {
    it("W2 is let in at the next, and renews from its own connection", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const log: string[] = [];
      const client = world.client(proxy.url, { log: ({ kind }) => log.push(kind) });
      await client.open();
      const end = gate();
      const job = defineJob({ name: "job", leaseMs: 5_000, run: () => end.promise });
      const { jobId } = await world.bystander.enqueue(job);
      const lost = proxy.lose("request", statement(world.schema, "what is there"));
      client.work([job]);
      await lost;
      await world.renewedBeyond((await world.row(jobId)).leaseUntilMs, jobId);
      expect((await world.backends.all()).map(({ name }) => name)).toContain("leasehold renew");
      expect(log).not.toContain("renewal_inline");
      end.open();
      expect(await world.ended(jobId)).toMatchObject({ state: "completed", generation: 1 });
    });
  });
});
