import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { FencingToken } from "../../src/protocol/identity.ts";
import { openDatabase } from "../../src/stores/sqlite/index.ts";
import { temporaryFolder } from "../stores/sqlite/world.ts";
import type { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { optional } from "../support/optional.ts";
import { inEachPlace, type Place } from "../support/places.ts";
import { missingProc } from "../support/processes-in.js";

const job = defineJob({ name: "job", run: () => {} });

interface Wake {
  /** What ran first: the timer, the message that had come meanwhile, or the signal. */
  readonly by: string;
  readonly tries: readonly { readonly by: string; readonly file: string; readonly guarded: string }[];
  readonly abortedAfterTurns?: number;
  readonly abortedAfterMs?: number;
}

/** By the system's own word. */
async function stopped({ process: { pid } }: Child): Promise<void> {
  await eventually("the process stands still", () =>
    readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("T"),
  );
}

/** Until so many leases have ended since this one. */
async function leasesLater(
  place: Place,
  leases: number,
  leaseUntilMs: number,
  leaseMs: number,
): Promise<void> {
  await eventually(`${leases} leases`, async () => (await place.nowMs()) >= leaseUntilMs + leases * leaseMs);
}

optional("processes that stand still", missingProc, () => {
  inEachPlace("one of three workers, stopped for five leases", (open) => {
    it("has no effect after it goes on, whether a timer or a message comes first, and its handler hears of it", {
      timeout: 90_000,
    }, async () => {
      const leaseMs = 2_000;
      const place = await open();
      const [effects, data] = ["effects", "data.db"].map((file) => join(temporaryFolder(), file)) as [
        string,
        string,
      ];
      writeFileSync(effects, "");
      const database = await openDatabase(data);
      onTestFinished(() => database.close());
      database.exec("pragma journal_mode = wal; create table effect (generation integer)");
      const { jobId } = await place.leasehold.enqueue(job, null, { leaseMs });
      const start = (): Child => place.start("paused", [JSON.stringify({ effects, data })]);
      const first = start();
      const { generation } = (await first.tells("running")) as FencingToken;
      const written = (): number[] => readFileSync(effects, "utf8").trim().split("\n").map(Number);
      for (let n = 0; n < 2; n++) start();
      await eventually("its effects", () => written().includes(generation));

      first.process.kill("SIGSTOP");
      await stopped(first);
      const { leaseUntilMs } = (await place.leasehold.get(jobId)) ?? {};
      await eventually("effects of its successor", () => written().some((one) => one > generation));
      await leasesLater(place, 4, leaseUntilMs as number, leaseMs);
      const before = written().filter((one) => one === generation).length;
      first.process.send("try"); // lies in its socket when it goes on
      first.process.kill("SIGCONT");

      const wake = (await first.tells("awake")) as Wake;
      if (process.env["LEASEHOLD_SHOW"] === "1")
        process.stdout.write(`${place.kind}: ${JSON.stringify(wake)}\n`);
      expect(wake.tries.length).toBeGreaterThan(1);
      expect(new Set(wake.tries.map(({ by }) => by))).toEqual(new Set(["timer", "message"]));
      const refused = expect.stringMatching(/^LH_(LEASE_ENDED|LEASE_NOT_TRUSTED|STALE_TOKEN)$/);
      for (const each of wake.tries) expect(each).toMatchObject({ file: refused, guarded: refused });
      // As a rule in the first turn; a machine with much else to do may come to it a tick later.
      expect(wake.abortedAfterTurns).toBeDefined();
      expect(await first.tells("aborted")).toMatchObject({ id: jobId });
      expect(await first.tells("lost")).toMatchObject({ refusal: { outcome: "stale", reason: "reclaimed" } });
      expect(written().filter((one) => one === generation)).toHaveLength(before);
      const rows = database.prepare("select generation from effect order by rowid").all();
      const generations = rows.map((row) => Number(row["generation"]));
      expect(generations).toEqual(generations.toSorted((one, other) => one - other));
    });
  });

  inEachPlace("results that come when a claim ends their jobs for their lapse", (open) => {
    it("C12 end each job once: completed, or failed and then refused", async () => {
      const leaseMs = 1_000;
      const place = await open();
      const jobs = await place.leasehold.enqueueMany(
        Array.from({ length: 20 }, () => ({ job, leaseMs, maxAttempts: 1 })),
      );
      const child = place.start("ending", [JSON.stringify({ jobs: jobs.length })]);
      await stopped(child);
      const views = await place.leasehold.getMany(jobs);
      const last = Math.max(...views.map((view) => view?.leaseUntilMs ?? 0));
      await leasesLater(place, 2, last, leaseMs);
      child.process.kill("SIGCONT");
      const claims = [];
      for (let looks = 0; looks < 20; looks++) claims.push(await place.claimAll("job"));
      child.process.send("stop");
      const counts = (await child.tells("stopped")) as { readonly failed: number };
      const ended = (await place.leasehold.getMany(jobs)).map((view) => view?.state);
      const completed = ended.filter((state) => state === "completed").length;
      if (process.env["LEASEHOLD_SHOW"] === "1")
        process.stdout.write(
          `${place.kind}: ${completed} completed, ${jobs.length - completed} ended by a claim\n`,
        );
      expect(counts).toMatchObject({ completed, lost: jobs.length - completed });
      expect(ended.filter((state) => state === "failed")).toHaveLength(jobs.length - completed);
      // Each end is told to one claim: of ours, or of the process itself, which may look for jobs before it settles.
      const told = claims.flatMap((claim) => claim.ended).length + counts.failed;
      expect(told).toBe(jobs.length - completed);
      expect(claims.flatMap((claim) => claim.jobs)).toEqual([]);
    });
  });

  describe("a process that stands still between making a statement and sending it, for two leases", () => {
    const leaseMs = 1_000;
    inEachPlace("of a renewal", (open) => {
      it("writes no lease that has ended already, and its run does not trust the late one", async () => {
        const place = await open();
        const child = place.start("frozen", [JSON.stringify({ at: ["renew"], running: true })]);
        const { jobId } = await place.leasehold.enqueue(job, null, { leaseMs });
        await stopped(child);
        const { leaseUntilMs } = (await place.leasehold.get(jobId)) ?? {};
        await leasesLater(place, 2, leaseUntilMs as number, leaseMs);
        const thawedMs = await place.nowMs();
        child.process.kill("SIGCONT");
        const renewed = (view: { readonly leaseUntilMs: number | null }): boolean =>
          Number(view.leaseUntilMs) > Number(leaseUntilMs);
        const view = await place.until("the renewal", jobId, renewed);
        expect(Number(view.leaseUntilMs)).toBeGreaterThan(thawedMs);
        expect(await child.tells("aborted")).toEqual({ id: jobId, reason: "lease_expired" });
        child.process.send("finish");
        // Nobody has claimed it meanwhile, so its result counts (W5).
        expect(await place.leasehold.result(jobId)).toBe("ended");
        expect(await place.leasehold.get(jobId)).toMatchObject({ generation: 1, attempt: 1 });
      });
    });

    inEachPlace("of a claim", (open) => {
      it("does not believe what it was granted so late: it gives it back with its attempt, or has it renewed first", async () => {
        const place = await open();
        const { jobId } = await place.leasehold.enqueue(job, null, { leaseMs });
        const at = place.kind === "sqlite" ? ["claim"] : ["claim", "claim ready"];
        const child = place.start("frozen", [JSON.stringify({ at })]);
        await stopped(child);
        const frozenMs = await place.nowMs();
        await leasesLater(place, 2, frozenMs, leaseMs);
        child.process.kill("SIGCONT");
        await child.tells("started");
        child.process.send("finish");
        expect(await place.leasehold.result(jobId)).toBe("held");
        const released = child.all("released");
        expect(released).toEqual(released.map(() => ({ id: jobId, why: "untrusted" })));
        const generation = 1 + released.length;
        expect(await place.leasehold.get(jobId)).toMatchObject({ generation, attempt: 1, expiredCount: 0 });
        expect(child.all("started")).toHaveLength(1);
      });
    });
  });
});
