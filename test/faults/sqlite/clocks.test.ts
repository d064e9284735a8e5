import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { Leasehold } from "../../../src/client/leasehold.ts";
import { sqlite } from "../../../src/stores/sqlite/index.ts";
import { Child } from "../../support/child.ts";
import { missingFaketime, shiftedBy } from "../../support/faketime.ts";
import { optional } from "../../support/optional.ts";

const HOUR_MS = 3_600_000;
const LEASE_MS = 4_000;

interface Begun {
  readonly owner: string;
  readonly previous: { readonly owner: string } | undefined;
}

interface World {
  readonly leasehold: Leasehold;
  /** A worker of processes/stayer.js on the file, its wall clock off by so much. */
  worker(how: "stays" | "returns", byMs: number): Child;
}

function clockWorld(): World {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "jobs.db");
  const leasehold = new Leasehold({ store: sqlite(path), log: () => {} });
  onTestFinished(() => leasehold.close());
  const file = fileURLToPath(new URL("../../worker/processes/stayer.js", import.meta.url));
  return {
    leasehold,
    worker(how, byMs) {
      const child = new Child(file, [path, how], byMs === 0 ? {} : { env: shiftedBy(byMs) });
      onTestFinished(() => child.kill());
      return child;
    },
  };
}

const job = defineJob({ name: "job", leaseMs: LEASE_MS, run: () => {} });

optional("a process on the SQLite file whose clock is an hour off", missingFaketime, () => {
  it("T5 and dies holds its job for one lease by the others' clock, not for an hour", async () => {
    const { leasehold, worker } = clockWorld();
    const answer = await leasehold.enqueue(job);
    const ahead = worker("stays", HOUR_MS);
    await ahead.tells("begun");
    const granted = (await leasehold.get(answer))?.leaseUntilMs ?? 0;
    expect(granted).toBeGreaterThan(Date.now() + HOUR_MS / 2);
    await ahead.kill();
    const right = worker("returns", 0);
    // Whoever meets the lease makes it end one lease from now: after that the test's time would not do for the hour.
    await leasehold.result(answer);
    expect(((await right.tells("begun")) as Begun).previous).toBeDefined();
    expect(await leasehold.get(answer)).toMatchObject({ state: "completed", generation: 2, attempt: 2 });
  }, 60_000);

  it("T5 takes a job early from one that holds it, whose end is then refused: work is lost, and nothing else", async () => {
    const { leasehold, worker } = clockWorld();
    const answer = await leasehold.enqueue(job);
    const right = worker("stays", 0);
    const held = (await right.tells("begun")) as Begun;
    const ahead = worker("returns", HOUR_MS);
    await leasehold.result(answer);
    expect(((await ahead.tells("begun")) as Begun).previous?.owner).toBe(held.owner);
    await right.tells("lost");
    expect(await leasehold.get(answer)).toMatchObject({ state: "completed", generation: 2, attempt: 2 });
    const journal = await leasehold.journal(answer);
    expect(journal.filter(({ kind }) => kind === "completed")).toHaveLength(1);
  }, 60_000);

  it("T5 an hour behind finds leases from the future, and shortens them to one from its own now", async () => {
    const { leasehold, worker } = clockWorld();
    const answer = await leasehold.enqueue(job);
    const right = worker("stays", 0);
    await right.tells("begun");
    await right.kill();
    worker("returns", -HOUR_MS);
    await leasehold.result(answer);
    expect(await leasehold.get(answer)).toMatchObject({ state: "completed", generation: 2, attempt: 2 });
  }, 60_000);
});
