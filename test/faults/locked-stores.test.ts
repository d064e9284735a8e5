import { expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { eventually } from "../support/eventually.ts";
import { inEachPlace, type Place } from "../support/places.ts";
import { gate } from "../worker/world.ts";

const LEASE_MS = 1_000;
/** For how many leases somebody holds every write up. */
const HELD = [0.5, 1, 2];

async function storeTimePasses(place: Place, ms: number): Promise<void> {
  const untilMs = (await place.nowMs()) + ms;
  await eventually("the store's time to pass", async () => (await place.nowMs()) >= untilMs);
}

inEachPlace("a store whose writes somebody holds up", (open) => {
  it.each(HELD)("for %d leases grants none that is believed although it came late", async (leases) => {
    const place = await open();
    const begun: { readonly generation: number; readonly remainingMs: number; readonly state: string }[] = [];
    const job = defineJob({
      name: "job",
      leaseMs: LEASE_MS,
      run: ({ lease }) =>
        void begun.push({
          generation: lease.token.generation,
          remainingMs: lease.remainingMs(),
          state: lease.state,
        }),
    });
    const { jobId } = await place.leasehold.enqueue(job);
    const release = await place.holdWrites();
    const untrusted: string[] = [];
    const worker = place
      .client()
      .work([job])
      .on("released", ({ why }) => untrusted.push(why));
    await storeTimePasses(place, leases * LEASE_MS);
    expect(begun).toEqual([]);
    await release();
    await place.leasehold.result(jobId);
    const view = await place.leasehold.get(jobId);
    expect(begun).toHaveLength(1);
    expect(begun[0]?.state).toBe("held");
    expect(begun[0]?.generation).toBe(view?.generation);
    // T2: what is left of it counts from before it was asked for.
    expect(begun[0]?.remainingMs).toBeLessThanOrEqual(0.9 * LEASE_MS);
    expect(untrusted).toEqual(untrusted.map(() => "untrusted"));
    // A grant that was given back took no attempt.
    expect(view).toMatchObject({ attempt: 1, generation: 1 + untrusted.length });
    await worker.stop();
  });

  it.each(HELD)(
    "for %d leases while a run renews: it is trusted only as long as it was before",
    async (leases) => {
      const place = await open();
      const [running, end] = [gate(), gate()];
      let state = (): string => "";
      const job = defineJob({
        name: "job",
        leaseMs: LEASE_MS,
        async run({ lease }) {
          state = () => lease.state;
          running.open();
          await end.promise;
          return lease.state;
        },
      });
      const { jobId } = await place.leasehold.enqueue(job);
      const worker = place.client().work([job]);
      await running.promise;
      const release = await place.holdWrites();
      const before = Number((await place.leasehold.get(jobId))?.leaseUntilMs);
      await storeTimePasses(place, leases * LEASE_MS);
      const after = await place.leasehold.get(jobId);
      expect(after?.leaseUntilMs).toBe(before);
      if (Number(await place.nowMs()) > before) expect(state()).toBe("ended");
      await release();
      const renewed = await place.until("a renewal", jobId, (view) => Number(view.leaseUntilMs) > before);
      expect(renewed).toMatchObject({ generation: 1, attempt: 1 });
      end.open();
      // Nobody has claimed it: what the handler returns is accepted (W5), though trust may have ended.
      expect(["held", "ended"]).toContain(await place.leasehold.result(jobId));
      await worker.stop();
      expect(worker.counts).toMatchObject({ completed: 1, lost: 0 });
    },
  );
});
