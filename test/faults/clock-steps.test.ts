import { expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { systemWorld } from "../../src/clock/system.ts";
import type { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock, missingFaketime } from "../support/faketime.ts";
import { optional } from "../support/optional.ts";
import { inEachPlace, type Place } from "../support/places.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LEASE_MS = 2_000;
const { timers } = systemWorld();
const job = defineJob({ name: "job", leaseMs: LEASE_MS, run: (_: { readonly input: number }) => {} });

const startedIn = (children: readonly Child[]): number =>
  children.flatMap((child) => child.all("started")).length;

/** Until the lease ends where it ends for somebody who has renewed it by the clock that is now off by so much. */
async function renewedAfter(place: Place, jobId: string, storeOffMs: number): Promise<void> {
  for (let renewals = 0, seen = 0; renewals < 3; renewals++) {
    const { leaseUntilMs } = await place.until("a renewal", jobId, ({ leaseUntilMs }) => {
      const offMs = Number(leaseUntilMs) - Date.now() - storeOffMs;
      return Math.abs(offMs) <= LEASE_MS && Number(leaseUntilMs) > seen;
    });
    seen = Number(leaseUntilMs);
  }
}

optional("clocks that are set while workers work", missingFaketime, () => {
  inEachPlace("the wall clock of all workers", (open) => {
    it.each([HOUR_MS, -HOUR_MS])(
      "T5 set by %d ms in the middle of a run leaves it renewed at its pace, and its end by one lease from its owner's death",
      async (byMs) => {
        const place = await open();
        await place.leasehold.open();
        const clock = fakeClock();
        const { env } = clock;
        const children = [1, 2].map(() => place.start("teller", ["{}"], { env }));
        await Promise.all(children.map((child) => child.tells("working")));
        const { jobId } = await place.leasehold.enqueue(job, -1);
        await eventually("one of them has it", () => startedIn(children) === 1);
        clock.step(byMs);
        // SQLite reads the clock of the process; a server has its own.
        await renewedAfter(place, jobId, place.kind === "sqlite" ? byMs : 0);
        // A lease may expire early by a step forward, or when the machine is busy, and be taken over: counted, and safe.
        const { generation } = (await place.leasehold.get(jobId)) ?? {};
        if (process.env["LEASEHOLD_SHOW"] === "1")
          process.stdout.write(`${place.kind}, ${byMs} ms: generation ${generation}\n`);

        const holder = await eventually("somebody's run", async () => {
          const { owner } = (await place.leasehold.get(jobId)) ?? {};
          return children.find((child) =>
            (child.all("started") as { token: { owner: string } }[]).some(
              ({ token }) => token.owner === owner,
            ),
          );
        });
        const other = children.find((child) => child !== holder);
        // A run that it has lost must not keep it from taking the job alone, as a suspect (W8).
        other?.process.send("finish");
        await holder.kill();
        const had = startedIn([other as Child]);
        await eventually("the other one takes over", () => startedIn([other as Child]) > had);
        other?.process.send("finish");
        await eventually("its end is told", () => other?.all("completed").length === 1);
        expect(holder.all("completed")).toEqual([]);
      },
    );
  });

  inEachPlace("a clock that is a year ahead for five seconds", (open) => {
    it("T5 floods nobody with slots, and the schedules go on where they were", async () => {
      const place = await open();
      await place.leasehold.open();
      const clock = fakeClock();
      const at = new Date(Date.now() + 60_000);
      const cron = `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
      await place.leasehold.schedule("daily", { cron, job, input: 0 });
      await place.leasehold.schedule("second", { everyMs: 1_000, job, input: 0 });
      const child = place.start("teller", ["{}"], { env: clock.env });
      const told = () => child.all("scheduled") as { schedule: string; slotMs: number }[];
      const here = (): number => told().filter(({ slotMs }) => slotMs < Date.now() + DAY_MS).length;
      await eventually("three slots", () => here() >= 3);
      clock.step(365 * DAY_MS);
      await timers.sleep(5_000);
      clock.step(0);
      const [had, beganMs] = [here(), Date.now()];
      await eventually("it goes on", () => here() >= had + 3);
      const seconds = (Date.now() - beganMs) / 1_000;
      // At the most what a minute of lateness allows, once for each direction (docs/reference/schedules.md).
      expect(told().length).toBeLessThan(140 + 2 * seconds);
      const keys = told().map(({ schedule, slotMs }) => `${schedule} ${slotMs}`);
      expect(new Set(keys).size).toBe(keys.length);
      if (process.env["LEASEHOLD_SHOW"] === "1")
        process.stdout.write(
          `${place.kind}: ${told().length} slots, ${told().length - here()} of them of next year\n`,
        );
    });
  });
});
