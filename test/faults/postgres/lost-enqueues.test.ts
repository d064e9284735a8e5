import { defineJob } from "leasehold";
import { describe, expect, it } from "vitest";
import { systemWorld } from "../../../src/clock/system.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import type { Sent } from "../../support/postgres-session.ts";
import { commitOf, statement } from "../../support/postgres-statements.ts";
import { callTimeoutMs, faultWorld } from "./world.ts";

const losses = [
  { what: "reply", by: "reset" },
  { what: "reply", by: "silence" },
  { what: "request", by: "reset" },
  { what: "request", by: "silence" },
] as const;

const job = defineJob({ name: "job", run: () => {} });

optional("enqueues lost on the way to PostgreSQL 18", missingPostgres(18), () => {
  describe.each(losses)("an enqueue whose $what is lost, by $by", ({ what, by }) => {
    it("C1 is repeated under the same id, and is one job", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const client = world.client(proxy.url, { callTimeoutMs: callTimeoutMs(by) });
      await client.open();
      const lost = proxy.lose(what, statement(world.schema, "enqueue new", "enqueue"), by);
      const { jobId, outcome } = await client.enqueue(job);
      await lost;
      expect(outcome).toBe("enqueued");
      expect((await world.bystander.list()).jobs).toMatchObject([{ jobId }]);
    });

    it("C11 stays an unknown outcome when the repeat is lost where it has certainly done nothing", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const client = world.client(proxy.url, { callTimeoutMs: callTimeoutMs(by) });
      await client.open();
      const enqueue = statement(world.schema, "enqueue new", "enqueue");
      const repeat = (sent: Sent): boolean => enqueue(sent) && sent.transaction.length > 0;
      const lost = [proxy.lose("request", repeat), proxy.lose(what, enqueue, by)];
      await expect(client.enqueue(job)).rejects.toMatchObject({ code: "LH_UNKNOWN_OUTCOME" });
      await Promise.all(lost);
      expect((await world.bystander.list()).jobs).toHaveLength(what === "reply" ? 1 : 0);
    });

    it("C1 under an id of the caller's, twice, is the same job when the caller repeats it", async () => {
      const world = await faultWorld();
      const proxy = await world.proxy();
      const client = world.client(proxy.url, { callTimeoutMs: callTimeoutMs(by) });
      await client.open();
      const jobId = systemWorld().ids.jobId();
      const commit = commitOf(world.schema, "enqueue");
      const lost = [proxy.lose(what, commit, by), proxy.lose(what, commit, by)];
      const unknown = { code: "LH_UNKNOWN_OUTCOME" };
      await expect(client.enqueue(job, null, { jobId })).rejects.toMatchObject(unknown);
      await Promise.all(lost);
      const outcome = what === "reply" ? "repeated" : "enqueued";
      expect(await world.bystander.enqueue(job, null, { jobId })).toMatchObject({ outcome, jobId });
      expect((await world.bystander.list()).jobs).toMatchObject([{ jobId }]);
    });
  });
});
