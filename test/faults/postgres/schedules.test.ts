import { expect, it } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { slotJobId } from "../../../src/protocol/schedule.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, ownServer } from "../../support/own-server.ts";
import { leaseholdOn } from "./server-world.ts";

const EVERY_MS = 1_000;

optional("ten workers on a schedule of each second", missingOwnServer(18), () => {
  it("enqueue every slot once, also those that came while the server was down, and in two releases at once", async () => {
    const server = await ownServer(18);
    const [one, other] = [
      defineJob({ name: "tick", run() {} }),
      defineJob({ name: "tick", queue: "other", run() {} }),
    ];
    const registrar = leaseholdOn(server);
    const made = await registrar.schedule("ticks", { everyMs: EVERY_MS, job: one });
    const told: number[] = [];
    const workers = Array.from({ length: 10 }, (_, n) => {
      const worker = leaseholdOn(server).work([n % 2 === 0 ? one : other], {
        renewer: "inline",
        pollMs: 200,
      });
      worker.on("scheduled", ({ slotMs }) => told.push(slotMs));
      return worker;
    });
    await eventually("five slots were enqueued", async () => told.length >= 5);
    await registrar.schedule("ticks", { everyMs: EVERY_MS, job: other });
    await server.kill("all");
    await server.start();
    await eventually("the workers are back", async () => told.length >= 12);
    await registrar.schedule("ticks", { everyMs: EVERY_MS, job: one });
    await eventually("and go on", async () => told.length >= 16);

    await Promise.all(workers.map((worker) => worker.stop()));

    const firstMs = made.schedule.nextSlotMs as number;
    const { lastSlotMs } = (await registrar.schedules.get("ticks")) ?? {};
    const slots = Array.from(
      { length: ((lastSlotMs as number) - firstMs) / EVERY_MS + 1 },
      (_, n) => firstMs + n * EVERY_MS,
    );
    const { jobs } = await registrar.list({ name: "tick" }, { limit: 1_000 });
    expect(jobs.map(({ jobId }) => jobId).sort()).toEqual(
      slots.map((slot) => slotJobId("ticks", slot)).sort(),
    );
    expect(new Set(jobs.map(({ queue }) => queue))).toEqual(new Set(["tick", "other"]));
    expect(new Set(told).size).toBe(told.length);
  });
});
