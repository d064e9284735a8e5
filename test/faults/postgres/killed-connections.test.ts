import { defineJob, type Leasehold, type Worker } from "leasehold";
import { describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import type { Backend } from "../../support/postgres-backends.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { gate } from "../../worker/world.ts";
import { NEVER_POLLS_MS, quick, stillWakes } from "./wake-ups.ts";
import { type FaultWorld, faultWorld } from "./world.ts";

const isIdle = ({ name, state }: Backend): boolean => name === "leasehold" && state === "idle";
const isListening = ({ name }: Backend): boolean => name === "leasehold listen";
const isRenewing = ({ name }: Backend): boolean => name === "leasehold renew";

/** Until `worker` has gone to sleep: what it then finds it was woken for. */
function asleep(worker: Worker): Promise<void> {
  return new Promise((resolve) => worker.on("idle", () => resolve()));
}

async function listening({ backends }: FaultWorld): Promise<void> {
  await eventually("the listening connection", async () =>
    (await backends.all()).some(
      (one) => isListening(one) && one.query.startsWith("listen") && one.state === "idle",
    ),
  );
}

optional("connections to PostgreSQL 18 that are killed under a worker", missingPostgres(18), () => {
  async function idleWorker(world: FaultWorld): Promise<Leasehold> {
    const client = world.client();
    const worker = client.work([quick], { pollMs: NEVER_POLLS_MS });
    await asleep(worker);
    await listening(world);
    return client;
  }

  describe("idle in the pool", () => {
    it("W7 are replaced, and jobs from elsewhere still wake the worker", async () => {
      const world = await faultWorld();
      await idleWorker(world);
      await stillWakes(world);
      await world.backends.kill("idle connections", isIdle);
      await stillWakes(world);
    });
  });

  describe("the one that listens", () => {
    it("W7 comes back and wakes the worker for what came while it was away, and afterwards", async () => {
      const world = await faultWorld();
      await idleWorker(world);
      await world.backends.kill("the listening connection", isListening);
      await stillWakes(world);
      await listening(world);
      await stillWakes(world);
    });
  });

  describe("the one that listens, while somebody cancels the job that runs", () => {
    it("C13 loses no cancel, which the next renewal brings; a handler that then throws has no other attempt", async () => {
      const world = await faultWorld();
      const long = defineJob({
        name: "long",
        leaseMs: 5_000,
        run: ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          }),
      });
      const reasons: unknown[] = [];
      const client = world.client();
      const worker = client.work([long], { pollMs: NEVER_POLLS_MS });
      worker.on("aborted", ({ reason }) => reasons.push(reason));
      const started = new Promise<void>((resolve) => worker.on("started", () => resolve()));
      const { jobId } = await world.bystander.enqueue(long);
      await started;
      await listening(world);
      await world.backends.kill("the listening connection", isListening);
      await world.bystander.cancel(jobId);
      expect(await world.ended(jobId)).toMatchObject({ state: "cancelled", attempt: 1, generation: 1 });
      expect(reasons).toEqual(["cancelled"]);
      expect(worker.counts).toMatchObject({ retried: 0, failed: 0 });
    });
  });

  describe("the one that renews", () => {
    it("W2 is replaced before the lease ends, twice over", async () => {
      const world = await faultWorld();
      const end = gate();
      const long = defineJob({
        name: "long",
        leaseMs: 5_000,
        async run({ lease, signal }) {
          await end.promise;
          return { state: lease.state, aborted: signal.aborted };
        },
      });
      const { jobId } = await world.bystander.enqueue(long);
      const log: string[] = [];
      const client = world.client(undefined, { log: ({ kind }) => log.push(kind) });
      const worker = client.work([long, quick], { pollMs: NEVER_POLLS_MS });
      for (let n = 0; n < 2; n += 1) {
        await world.backends.kill("the renewing connection", isRenewing);
        await world.renewedBeyond((await world.row(jobId)).leaseUntilMs, jobId);
      }
      expect(log).not.toContain("renewal_inline");
      await stillWakes(world);
      end.open();
      const result = { state: "held", aborted: false };
      expect(await world.ended(jobId)).toMatchObject({ result, generation: 1, attempt: 1 });
      await worker.stop();
      expect(worker.counts).toMatchObject({ completed: 2, lost: 0 });
    });
  });
});
