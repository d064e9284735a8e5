import { expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { FencingToken } from "../../src/protocol/identity.ts";
import type { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { inEachPlace, type Place } from "../support/places.ts";

const CALL = { timeoutMs: 20_000 };
const job = defineJob({ name: "job", run: (_: { readonly input: number }) => {} });

interface Started {
  readonly id: string;
  readonly token: FencingToken;
}

/** A worker process whose only job goes on until it is told to finish. */
async function runningOne(
  place: Place,
  leaseMs: number,
  options: object,
): Promise<{ readonly child: Child; readonly jobId: string; readonly token: FencingToken }> {
  const { jobId } = await place.leasehold.enqueue(job, -1, { leaseMs });
  const child = place.start("teller", [JSON.stringify(options)]);
  const { token } = (await child.tells("started")) as Started;
  return { child, jobId, token };
}

/** So many claims as others make while they poll. */
async function nobodyGetsIt(place: Place): Promise<void> {
  for (let looks = 0; looks < 100; looks++) expect((await place.claimAll("job")).jobs).toEqual([]);
}

inEachPlace("stopping a process (W6)", (open) => {
  it("keeps the lease of a handler that still runs: whoever looks gets nothing, and it completes", async () => {
    const place = await open();
    const { child, jobId } = await runningOne(place, 60_000, {});
    child.process.send("stop");
    await child.tells("stopping");
    await nobodyGetsIt(place);
    expect(child.all("stopped")).toEqual([]);
    child.process.send("finish");
    expect(await child.tells("stopped")).toMatchObject({ completed: 1, lost: 0 });
    expect(await place.leasehold.get(jobId)).toMatchObject({ state: "completed", generation: 1, attempt: 1 });
  });

  it("that gives up on a handler which goes on leaves its lease to lapse, and what it saves after a claim is refused", async () => {
    const place = await open();
    const { child, jobId, token } = await runningOne(place, 2_000, { graceMs: 50 });
    child.process.send("stop");
    await child.tells("stopped");
    // The process lives, and so does its handler.
    const first = await place.leasehold.get(jobId);
    expect(first).toMatchObject({ state: "leased", owner: token.owner, generation: 1 });
    const taken = await eventually("the lease to lapse", async () => (await place.claimAll("job")).jobs[0]);
    expect(taken).toMatchObject({ previous: { owner: token.owner, generation: 1 } });
    expect(taken.job.claimedAtMs).toBeGreaterThanOrEqual(first?.leaseUntilMs as number);

    child.process.send("finish");
    const fence = { jobId: taken.job.jobId, owner: token.owner, generation: token.generation };
    const [late] = await place.leasehold.store.settle([{ operation: "complete", fence, result: null }], CALL);
    expect(late).toMatchObject({ outcome: "stale", generation: 2 });
    const now = await place.leasehold.get(jobId);
    expect(now).toMatchObject({
      owner: taken.job.owner,
      generation: 2,
      leaseUntilMs: taken.job.leaseUntilMs,
    });
  });

  it("right after a claim goes on renewing: a handler of more than a lease and a half completes", async () => {
    const leaseMs = 1_000;
    const place = await open();
    const { child, jobId } = await runningOne(place, leaseMs, {});
    child.process.send("close");
    await child.tells("stopping");
    const { claimedAtMs } = (await place.leasehold.get(jobId)) ?? {};
    const endsMs = (claimedAtMs as number) + 1.5 * leaseMs;
    await place.until(
      "a lease and a half",
      jobId,
      ({ leaseUntilMs }) => Number(leaseUntilMs) > endsMs + leaseMs,
    );
    child.process.send("finish");
    expect(await child.tells("stopped")).toMatchObject({ completed: 1, lost: 0 });
    expect(await place.leasehold.get(jobId)).toMatchObject({ state: "completed", generation: 1, attempt: 1 });
  });

  it("with ten claimed and three begun lets the three end, and gives the others back with their attempts", async () => {
    const place = await open();
    await place.leasehold.open();
    const child = place.start("teller", [JSON.stringify({ concurrency: 3 })]);
    await child.tells("working");
    // Short ones first: a worker claims ahead as many as it has started lately (W1).
    const short = Array.from({ length: 300 }, () => ({ job, input: 0, leaseMs: 10_000 }));
    const long = Array.from({ length: 10 }, () => ({ job, input: -1, leaseMs: 10_000 }));
    const jobs = await place.leasehold.enqueueMany([...short, ...long]);
    const last = jobs.slice(-10).map(({ jobId }) => jobId);
    const inState = async (wanted: string): Promise<number> =>
      (await place.leasehold.getMany(last)).filter((view) => view?.state === wanted).length;
    await eventually("three have begun", () => child.all("started").length === 303);
    // Ten, where the machine had started seven within its last 100 ms.
    const claimed = await eventually("some were claimed ahead", async () => {
      const leased = await inState("leased");
      return leased > 3 && leased;
    });
    child.process.send("stop");
    await eventually("all but three are given back", async () => (await inState("ready")) === 7);
    expect(child.all("started")).toHaveLength(303);
    expect(child.all("stopped")).toEqual([]);
    child.process.send("finish");
    expect(await child.tells("stopped")).toMatchObject({ completed: 303, released: claimed - 3, lost: 0 });
    const views = await place.leasehold.getMany(last);
    expect(views.map((view) => `${view?.state} ${view?.attempt}`).sort()).toEqual([
      ...Array.from({ length: 3 }, () => "completed 1"),
      ...Array.from({ length: 7 }, () => "ready 0"),
    ]);
  });
});
