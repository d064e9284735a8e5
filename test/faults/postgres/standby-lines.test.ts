import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemWorld } from "../../../src/clock/system.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, ownServer } from "../../support/own-server.ts";
import { job, leaseholdOn } from "./server-world.ts";

/** `LEASEHOLD_STANDBY_MS=20000` for longer. */
const ALONE_MS = Number(process.env["LEASEHOLD_STANDBY_MS"] ?? 5_000);
const { clock } = systemWorld();

optional("a PostgreSQL 18 of which only a standby is left", missingOwnServer(18), () => {
  it("W7 is asked with back-off, costs a line a second of each kind at most, and is listened to again when it is promoted", {
    timeout: 90_000,
  }, async () => {
    const server = await ownServer(18);
    await leaseholdOn(server).open();
    await server.stop();
    server.becomeStandby();
    await server.start();
    const lines = new Map<string, number[]>();
    const client = leaseholdOn(server, {
      log: ({ kind }) => void lines.set(kind, [...(lines.get(kind) ?? []), clock.monotonicMs()]),
    });
    const told: string[] = [];
    const beganMs = clock.monotonicMs();
    const worker = client.work([job]);
    worker
      .on("unreachable", () => told.push("unreachable"))
      .on("reachable", () => told.push("reachable"))
      .on("error", () => told.push("error"));
    await eventually("the time of the standby", () => clock.monotonicMs() - beganMs > ALONE_MS, 60_000);

    expect(told.filter((what) => what !== "error")).toEqual(["unreachable"]);
    for (const [kind, times] of lines)
      for (const [n, ms] of times.entries())
        if (n > 0) expect(ms - (times[n - 1] as number), kind).toBeGreaterThan(950);
    // Claims back off to one in two seconds, schedules are looked at each five.
    const errors = told.filter((what) => what === "error").length;
    expect(errors).toBeLessThan(12 + ALONE_MS / 1_000);
    const refused =
      readFileSync(join(server.data, "../log"), "utf8").match(/cannot execute LISTEN/g)?.length ?? 0;
    expect(refused).toBeLessThan(12 + ALONE_MS / 1_000);
    if (process.env["LEASEHOLD_SHOW"] === "1") {
      const counts = [...lines].map(([kind, times]) => `${kind} ${times.length}`).join(", ");
      process.stdout.write(
        `${ALONE_MS} ms: lines ${counts}; ${errors} errors told; LISTEN refused ${refused} times\n`,
      );
    }

    await server.promote();
    await eventually("it is reachable", () => told.includes("reachable"));
    const { jobId } = await client.enqueue(job, 0);
    await client.result(jobId);
    await worker.stop();
  });
});
