import { defineJob } from "leasehold";
import { describe, expect, it } from "vitest";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { statement } from "../../support/postgres-statements.ts";
import { callTimeoutMs, faultWorld } from "./world.ts";

const ways = [{ by: "reset" }, { by: "silence" }] as const;

optional("claims lost on the way to PostgreSQL 18", missingPostgres(18), () => {
  describe.each(ways)("a claim whose connection meets $by", ({ by }) => {
    it("C4 when its reply is lost, leaves its job to lapse, and the next claim has a higher generation", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const client = world.client(proxy.url, { callTimeoutMs: callTimeoutMs(by) });
      await client.open();
      const starts: unknown[] = [];
      const job = defineJob({ name: "job", leaseMs: 1_000, run: ({ lease }) => lease.token.generation });
      const { jobId } = await world.bystander.enqueue(job);
      const lost = proxy.lose("reply", statement(world.schema, "claim", "claim ready"), by);
      const worker = client.work([job]);
      worker.on("started", ({ previous }) => starts.push(previous));
      await lost;
      expect(await world.row(jobId)).toMatchObject({ generation: 1, attempt: 1 });
      expect(await world.ended(jobId)).toMatchObject({ result: 2, generation: 2, attempt: 2 });
      // That it was the worker's own changes nothing: it never knew of it.
      expect(starts).toMatchObject([{ owner: worker.owner, generation: 1 }]);
    });

    it("when it never arrives, has claimed nothing", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const client = world.client(proxy.url, { callTimeoutMs: callTimeoutMs(by) });
      await client.open();
      const job = defineJob({ name: "job", run: ({ lease }) => lease.token.generation });
      const { jobId } = await world.bystander.enqueue(job);
      const lost = proxy.lose("request", statement(world.schema, "claim", "claim ready"), by);
      client.work([job]);
      await lost;
      expect(await world.ended(jobId)).toMatchObject({ result: 1, generation: 1, attempt: 1 });
    });
  });
});
