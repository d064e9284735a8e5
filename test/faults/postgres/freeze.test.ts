import { expect, it } from "vitest";
import { systemWorld } from "../../../src/clock/system.ts";
import { audit } from "../../support/audit.ts";
import type { Child } from "../../support/child.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, ownServer } from "../../support/own-server.ts";
import { audited, job, leaseholdOn, startWorker, stopped } from "./server-world.ts";

/** Longer by wish: `LEASEHOLD_FREEZE_MS=30000 … --testTimeout 90000`. */
const FREEZE_MS = Number(process.env["LEASEHOLD_FREEZE_MS"] ?? 5_500);
const LEASE_MS = 2_500;
/** By so much one of the owners comes back later than the server: well within a third of the lease. */
const LATE_MS = 250;
const { timers } = systemWorld();

optional("a PostgreSQL 18 that stands still for longer than two leases", missingOwnServer(18), () => {
  it("W7 costs no live owner its lease: who is back first claims only ready jobs at first", async () => {
    const server = await ownServer(18);
    const query = await audited(server);
    const client = leaseholdOn(server);
    const enqueue = () =>
      client.enqueueMany(Array.from({ length: 3 }, () => ({ job, input: -1, leaseMs: LEASE_MS })));
    const all = (what: string): number => workers.flatMap((worker) => worker.all(what)).length;

    // Each has more places than there are jobs, so it would take lapsed leases over if it might.
    const workers: Child[] = [startWorker(server.url, LEASE_MS, 20)];
    await enqueue();
    await eventually("the first worker has three", () => all("started") === 3);
    workers.push(startWorker(server.url, LEASE_MS, 20));
    await workers[1]?.tells("working");
    await enqueue();
    await eventually("all run", () => all("started") === 6);
    // A claim that is under way would be carried out when the server goes on, whatever has become of its sender (C4). After
    // some looks for nothing there is none for a while.

    const looks = workers.map((worker) => worker.all("idle").length + 5);
    const asleep = (): boolean => workers.every((worker, n) => worker.all("idle").length >= (looks[n] ?? 0));
    await eventually("the workers look but seldom", asleep);

    server.freeze();
    await timers.sleep(FREEZE_MS);
    expect(all("aborted")).toBe(6); // T2: nobody has trusted its lease for so long
    workers[0]?.process.kill("SIGSTOP");
    server.thaw();
    await timers.sleep(LATE_MS);
    workers[0]?.process.kill("SIGCONT");
    await Promise.all(workers.map((worker) => worker.tells("reachable")));
    const inTime = (): Promise<boolean> =>
      query(
        "select from leasehold.job where lease_until <= extract(epoch from clock_timestamp()) * 1000",
      ).then((lapsed) => lapsed.length === 0);
    await eventually("all leases are renewed", inTime);

    for (const worker of workers) worker.process.send("finish");
    await eventually("all have ended", () => all("completed") + all("lost") >= 6);
    for (const worker of workers) expect(await stopped(worker)).toMatchObject({ lost: 0, failed: 0 });
    expect(all("started")).toBe(6);
    expect(await audit(query)).toMatchObject({ broken: [], claims: 6, reclaims: 0 });
  });
});
