import { expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { inEachPlace } from "../support/places.ts";

/** `LEASEHOLD_DEATHS=25` for the full number; each takes a lease. */
const DEATHS = Number(process.env["LEASEHOLD_DEATHS"] ?? 4);

inEachPlace(
  `workers that die between claim and handler, ${DEATHS} times for one key and resource`,
  (open) => {
    it("leave nothing that outlives their leases: the job ends as failed, and the next of its key runs", {
      timeout: 300_000,
    }, async () => {
      const place = await open();
      const job = defineJob({
        name: "job",
        leaseMs: 1_000,
        maxAttempts: DEATHS,
        resource: () => "account:42",
        unique: () => ({ key: "42", onConflict: "throw" }),
        run: (_: { readonly input: number }) => "run",
      });
      const { jobId } = await place.leasehold.enqueue(job, 0);
      for (let deaths = 1; deaths <= DEATHS; deaths++) {
        const child = place.start("claimer");
        expect(await child.exited).toBe(null);
        expect(await place.leasehold.get(jobId)).toMatchObject({ state: "leased", attempt: deaths });
        await expect(place.leasehold.enqueue(job, 0)).rejects.toThrow();
      }
      place.leasehold.work([job], { renewer: "inline" });
      await expect(place.leasehold.result(jobId)).rejects.toThrow();
      expect(await place.leasehold.get(jobId)).toMatchObject({
        state: "failed",
        endReason: "lease_expired",
        attempt: DEATHS,
      });
      const next = await place.leasehold.enqueue(job, 0);
      expect(await place.leasehold.result(next)).toBe("run");
      expect(await place.leasehold.get(next)).toMatchObject({ generation: 1, attempt: 1 });
    });
  },
);
