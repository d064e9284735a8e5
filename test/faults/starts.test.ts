import { expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { inEachPlace } from "../support/places.ts";

/** `LEASEHOLD_STARTS=1000` for the full number. */
const STARTS = Number(process.env["LEASEHOLD_STARTS"] ?? 40);
const RESTARTS = 5;
const DAY_MS = 86_400_000;

inEachPlace("a worker that starts", (open) => {
  it("takes nothing over from itself or its neighbours: each job runs once, over many starts", {
    timeout: 600_000,
  }, async () => {
    const place = await open();
    const runs: string[] = [];
    const job = defineJob({ name: "job", leaseMs: 30_000, run: ({ job: { id } }) => void runs.push(id) });
    const ids: string[] = [];
    for (let n = 0; n < STARTS; n++) {
      // The start, its first look for what has lapsed, and the job's arrival in one tick, in either order.
      const client = place.client();
      const jobs = [client.enqueue(job)];
      client.work([job]);
      jobs.push(client.enqueue(job));
      const answers = await Promise.all(jobs);
      await Promise.all(answers.map((answer) => client.result(answer)));
      ids.push(...answers.map(({ jobId }) => jobId));
      await client.close();
    }
    expect(runs.sort()).toEqual(ids.sort());
    for (const view of await place.leasehold.getMany(ids))
      expect(view).toMatchObject({ state: "completed", generation: 1, attempt: 1, expiredCount: 0 });
  });

  it("again and again has a delayed job run once when it is due by the store's time, and a later one not at all", {
    timeout: 90_000,
  }, async () => {
    const leaseMs = 1_000;
    const place = await open();
    const job = defineJob({ name: "job", run: (_: { readonly input: number }) => {} });
    await place.leasehold.open();
    const [soon, later] = await place.leasehold.enqueueMany([
      { job, input: 0, leaseMs, delayMs: 3 * leaseMs },
      { job, input: 0, leaseMs, delayMs: 30 * DAY_MS },
    ]);
    const children: Child[] = [];
    for (let n = 0; n <= RESTARTS; n++) {
      const child = place.start("teller");
      children.push(child);
      await child.tells("idle");
      if (n === RESTARTS) break;
      child.process.send("stop");
      await child.tells("stopped");
    }
    const view = await place.until("its end", soon?.jobId ?? "", ({ state }) => state === "completed");
    // A worker that was just stopping may have given it back, with its attempt: one run all the same.
    expect(view).toMatchObject({ attempt: 1 });
    expect(Number(view.claimedAtMs)).toBeGreaterThanOrEqual(Number(view.createdAtMs) + 3 * leaseMs);
    await eventually("the last one looks on", () => (children.at(-1)?.all("idle").length ?? 0) > 1);
    expect(children.flatMap((child) => child.all("started"))).toHaveLength(1);
    expect(await place.leasehold.get(later?.jobId ?? "")).toMatchObject({
      state: "ready",
      generation: 0,
      attempt: 0,
    });
  });
});
