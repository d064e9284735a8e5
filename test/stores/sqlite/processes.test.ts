import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadDriver } from "../../../src/stores/sqlite/driver.ts";
import { CALL, storeOn, temporaryFolder } from "./world.ts";

const child = new URL("../../support/sqlite-child.js", import.meta.url);

function start(...args: string[]): ChildProcess {
  return fork(child, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

async function exitCode(process: ChildProcess): Promise<number | null> {
  if (process.exitCode !== null) return process.exitCode;
  const [code] = (await once(process, "exit")) as [number | null];
  return code;
}

describe("migrations", () => {
  it("are safe when ten processes start at once", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const children = Array.from({ length: 10 }, () => start("enqueue", path, "20"));
    expect(await Promise.all(children.map(exitCode))).toEqual(Array(10).fill(0));
    const store = storeOn(path);
    expect(await store.counts(CALL)).toMatchObject([{ queue: "queue", ready: 200 }]);
  });

  it("leave nothing behind when one is killed in the middle", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const killed = start("half-migrate", path);
    await once(killed, "message");
    killed.kill("SIGKILL");
    await exitCode(killed);
    const { Database } = await loadDriver();
    const database = new Database(path);
    expect(database.prepare("select count(*) as n from sqlite_master").get()?.["n"]).toBe(0);
    database.close();
    await storeOn(path).open();
  });
});

describe("several processes on one file", () => {
  it("share the work: every job is completed once, none is left", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const jobs = 2_000;
    expect(await exitCode(start("enqueue", path, String(jobs)))).toBe(0);
    const workers = Array.from({ length: 4 }, () => start("drain", path));
    const reports = Promise.all(
      workers.map((worker) => once(worker, "message") as Promise<[{ completed: number }]>),
    );
    expect(await Promise.all(workers.map(exitCode))).toEqual([0, 0, 0, 0]);
    const completed = (await reports).map(([report]) => report.completed);
    expect(completed.reduce((sum, each) => sum + each, 0)).toBe(jobs);
    const [counts] = await storeOn(path).counts(CALL);
    expect(counts).toMatchObject({ ready: 0, leased: 0, completed: jobs });
  });
});
