import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import { slotJobId } from "../../src/protocol/schedule.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";

it("processes in several zones of the world, some of them killed, enqueue every slot of a file's schedule once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
  const path = join(folder, "jobs.db");
  const leasehold = new Leasehold({ store: sqlite(path), log: () => {} });
  onTestFinished(async () => {
    await leasehold.close();
    rmSync(folder, { recursive: true });
  });
  const job = defineJob({ name: "tick", run() {} });
  const made = await leasehold.schedule("ticks", { cron: "* * * * * *", zone: "Asia/Kathmandu", job });
  const start = (TZ: string): Child => {
    const file = fileURLToPath(new URL("processes/scheduled.js", import.meta.url));
    const child = new Child(file, [path], { env: { TZ } });
    onTestFinished(() => child.kill());
    return child;
  };
  const children = ["UTC", "Pacific/Apia", "America/New_York"].map(start);
  const told = (): number[] => children.flatMap((child) => child.all("scheduled") as number[]);
  await Promise.all(children.map((child) => child.tells("working")));
  await eventually("some slots were enqueued", async () => told().length >= 4);
  await children[0]?.kill();
  await children[1]?.kill();
  children.push(start("Europe/Berlin"));
  await eventually("the others go on", async () => told().length >= 10);
  await children[2]?.kill();
  await children[3]?.kill();

  const firstMs = made.schedule.nextSlotMs as number;
  const { lastSlotMs } = (await leasehold.schedules.get("ticks")) ?? {};
  const slots = Array.from(
    { length: ((lastSlotMs as number) - firstMs) / 1_000 + 1 },
    (_, n) => firstMs + n * 1_000,
  );
  const { jobs } = await leasehold.list({ name: "tick" }, { limit: 1_000 });
  expect(jobs.map(({ jobId }) => jobId).sort()).toEqual(slots.map((slot) => slotJobId("ticks", slot)).sort());
  expect(new Set(told()).size).toBe(told().length);
});
