import { describe, expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { Leasehold } from "../../../src/client/leasehold.ts";
import { postgresGuard } from "../../../src/destinations/postgres/index.ts";
import type { Line } from "../../../src/protocol/identity.ts";
import { postgres } from "../../../src/stores/postgres/index.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, type OwnServer, ownServer } from "../../support/own-server.ts";
import { emptyDatabase, rowsOf } from "../../support/postgres-database.ts";
import { gate } from "../../worker/world.ts";
import { Story } from "../story.ts";
import { caughtUp, makeLag } from "./standby-world.ts";

function leaseholdOn(server: OwnServer, story: Story): Leasehold {
  const leasehold = new Leasehold({
    store: postgres({ connectionString: server.url }),
    log: story.log,
    callTimeoutMs: 2_000,
  });
  onTestFinished(() => leasehold.close());
  return leasehold;
}

/** What two standbys look like that are promoted to one timeline: nothing tells the store that it has lost anything. */
async function blindToTheTimeline(server: OwnServer): Promise<void> {
  await server.query(
    `update leasehold.store
        set timeline = ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer`,
  );
}

interface Case {
  readonly title: string;
  readonly resource: string | undefined;
  /** How many tries of the job the standby never hears of. */
  readonly lostTries: number;
}

const CASES: readonly Case[] = [
  { title: "an equal generation", resource: undefined, lostTries: 1 },
  { title: "a lower generation", resource: undefined, lostTries: 3 },
  { title: "a lower generation of their resource", resource: "account:42", lostTries: 2 },
];

for (const version of [15, 18] as const) {
  optional(`healing after a failover of PostgreSQL ${version}`, missingOwnServer(version), () => {
    describe("a standby that has lost claims and does not know it", () => {
      it.each(CASES)(
        "D6 C19 gives a job out at $title, is lifted to the mark by the refused worker, and the next claim is admitted",
        async ({ resource, lostTries }) => {
          const story = new Story();
          story.tell(`PostgreSQL ${version}, ${lostTries} claims lost`);
          const url = await emptyDatabase(18);
          await rowsOf(url, "create table ledger (seq bigserial, written_by text)");
          const guard = postgresGuard({ connectionString: url });
          onTestFinished(() => guard.close());
          const late = gate();
          const wrote = gate();
          const jobOf = (who: string) =>
            defineJob({
              name: "credit",
              maxAttempts: 10,
              backoff: { baseMs: 0, jitter: "none" },
              ...(resource === undefined ? {} : { resource: () => resource }),
              async run(run) {
                await story.write(who, guard, run, (tx) =>
                  tx.query("insert into ledger (written_by) values ($1)", [who]),
                );
                if (who !== "A") return;
                if (run.lease.token.generation < lostTries) throw new Error("once more");
                wrote.open();
                await late.promise;
                await story.write("A, late", guard, run, () => {}).catch(() => {});
              },
            });

          const primary = await ownServer(version);
          const before = leaseholdOn(primary, story);
          const jobs = { a: jobOf("A"), b: jobOf("B") };
          const { jobId } = await before.enqueue(jobs.a);
          const standby = await primary.standby();
          await caughtUp(primary, standby);
          await makeLag(primary);
          const a = before.work([jobs.a], { graceMs: 0 });
          await wrote.promise;
          await primary.kill("all");
          await standby.promote();
          await blindToTheTimeline(standby);
          story.tell("the primary is gone; a standby that has heard of none of it takes its place");

          const after = leaseholdOn(standby, story);
          const b = after.work([jobs.b]);
          story.follow("B", b);
          await after.result(jobId as never, { timeoutMs: 30_000 });
          late.open();
          await a.stop({ graceMs: 5_000 });
          await b.stop();

          const line = (resource === undefined ? `job:${jobId}` : `lease:${resource}`) as Line;
          const text = story.toString();
          expect(await guard.markOf(line), text).toEqual({ generation: lostTries + 1, owner: b.owner });
          const written = await rowsOf(url, "select written_by from ledger order by seq");
          const expected = [...Array.from({ length: lostTries }, () => "A"), "B"];
          expect(
            written.map((row) => row["written_by"]),
            text,
          ).toEqual(expected);
          expect(b.counts, text).toMatchObject({ completed: 1, released: 1, failed: 0, retried: 0 });
          expect(await after.get(jobId), text).toMatchObject({ state: "completed", attempt: 1 });
          expect(story.lines, text).toContainEqual(expect.stringMatching(/^A, late, .*: refused/));
          const journal = await after.journal(jobId);
          expect(
            journal.map(({ kind }) => kind),
            text,
          ).toContain("healed");
        },
      );
    });
  });
}
