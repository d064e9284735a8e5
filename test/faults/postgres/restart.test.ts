import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, type OwnServer, ownServer } from "../../support/own-server.ts";
import { job, leaseholdOn, startWorker, stopped } from "./server-world.ts";
import { NEVER_POLLS_MS } from "./wake-ups.ts";

/** While the server is down: resolves when so many have tried to connect to it, in vain. */
async function triedToConnect(server: OwnServer, times: number): Promise<void> {
  let tries = 0;
  const deaf = createServer((socket) => {
    tries += 1;
    socket.resetAndDestroy();
  });
  await new Promise<void>((resolve) => deaf.listen(server.port, "127.0.0.1", resolve));
  await eventually(`${times} have tried to connect`, () => tries >= times);
  await new Promise((resolve) => deaf.close(resolve));
}

function listening(server: OwnServer): Promise<unknown> {
  return eventually("the listening connection", async () => {
    const [row] = await server.query(
      "select from pg_stat_activity where application_name = 'leasehold listen' and state = 'idle' and query like 'listen%'",
    );
    return row;
  });
}

optional("a PostgreSQL 18 that is restarted in the middle of a run", missingOwnServer(18), () => {
  it.each(["stop", "kill"] as const)(
    "W7 by %s costs the run nothing: its lease is in the row, and is renewed",
    async (how) => {
      const server = await ownServer(18);
      const leasehold = leaseholdOn(server);
      // Long enough for the server to be back within a part of it.
      const worker = startWorker(server.url, 20_000, 1);
      const { jobId } = await leasehold.enqueue(job, -1, { leaseMs: 20_000 });
      await worker.tells("started");
      const rival = startWorker(server.url, 20_000, 1);
      await rival.tells("working");
      await (how === "stop" ? server.stop() : server.kill("postmaster"));
      await server.start();
      const leaseUntilMs = async (): Promise<number> => {
        const view = await leasehold.get(jobId).catch(() => undefined);
        return view?.leaseUntilMs ?? 0;
      };
      const before = await eventually(
        "the lease after the restart",
        async () => (await leaseUntilMs()) || undefined,
      );
      await eventually("a renewal after the restart", async () => (await leaseUntilMs()) > before);
      worker.process.send("finish");
      await leasehold.result(jobId);
      expect(await leasehold.get(jobId)).toMatchObject({ generation: 1, attempt: 1, state: "completed" });
      expect(await stopped(worker)).toMatchObject({ completed: 1, lost: 0 });
      expect(await stopped(rival)).toMatchObject({ completed: 0 });
    },
  );

  describe("whose listeners find nobody when they come back", () => {
    it("W7 is listened to again by a worker that does not poll, and wakes it within moments", async () => {
      const server = await ownServer(18);
      const quick = defineJob({ name: "quick", run: () => Date.now() });
      const here = leaseholdOn(server);
      const there = leaseholdOn(server);
      await there.open();
      const worker = here.work([quick], { pollMs: NEVER_POLLS_MS });
      await new Promise<void>((resolve) => worker.on("idle", () => resolve()));
      await listening(server);
      await server.stop();
      await triedToConnect(server, 5);
      await server.start();
      await listening(server);
      const latenciesMs: number[] = [];
      for (let n = 0; n < 20; n += 1) {
        const enqueuedMs = Date.now();
        const { jobId } = await there.enqueue(quick);
        const startedMs = await there.result(jobId);
        latenciesMs.push(Number(startedMs) - enqueuedMs);
      }
      latenciesMs.sort((a, b) => a - b);
      if (process.env["LEASEHOLD_SHOW"] === "1")
        process.stdout.write(`From enqueue to start after the restart, ms: ${latenciesMs.join(" ")}\n`);
      // It never polls: whatever runs at all was woken. That most come within moments tells wake-ups from retries.
      expect(latenciesMs[10]).toBeLessThan(1_000);
    });
  });
});
