import { expect, it } from "vitest";
import type { Report } from "../../src/cli/drill/report.ts";
import { optional } from "../support/optional.ts";
import { emptyDatabase, rowsOf } from "../support/postgres-database.ts";
import { missingPostgres } from "../support/postgres-server.ts";
import { missingRedis, RedisServer } from "../support/redis-server.ts";
import { cli, cliJson, folder } from "./support.ts";

async function storeOf(cwd: string): Promise<string> {
  const url = await emptyDatabase(18);
  expect((await cli(["enqueue", "mail", "--store", url], { cwd })).code).toBe(0);
  return url;
}

/** Each fault costs a lease, and the start of a process or two. */
const SLOW = { timeout: 120_000 };

optional("drill on PostgreSQL 18", missingPostgres(18), () => {
  it(
    "sees every fault refused by the store and by a table in the same database, and leaves both as they were",
    SLOW,
    async () => {
      const cwd = folder();
      const url = await storeOf(cwd);
      const args = ["drill", "--store", url, "--destination", url, "--rounds", "1", "--lease", "2s"];
      const report = await cliJson<Report>(args, { cwd });
      expect(report, JSON.stringify(report.figures)).toMatchObject({
        ok: true,
        exit: 0,
        destination: { name: "postgres", level: "fenced + deduplicated", probe: { isProven: true } },
        figures: {
          reclaims: { count: 5 },
          store: { lateRenewals: { sent: 3, refused: 3 }, repeatedCompletions: { sent: 1, already: 1 } },
          lateWrites: { sent: 3, refused: 3 },
          repeats: { sent: 2, answered: 2 },
          overlaps: { leases: 0 },
          brokenOff: [],
        },
      });
      expect(await rowsOf(url, "select name, state, generation::int from leasehold.record")).toEqual([
        { name: "mail", state: "ready", generation: 0 },
      ]);
      expect(await rowsOf(url, "select nspname from pg_namespace where nspname like 'leasehold_%'")).toEqual(
        [],
      );
    },
  );

  it("tells what a blind destination lets through", SLOW, async () => {
    const cwd = folder();
    const args = [
      "drill",
      "--store",
      await storeOf(cwd),
      "--destination",
      "blind",
      "--rounds",
      "1",
      "--lease",
      "2s",
    ];
    const report = await cliJson<Report>([...args, "--faults", "block,kill-before-complete"], { cwd });
    expect(report, JSON.stringify(report.figures)).toMatchObject({
      ok: false,
      exit: 1,
      figures: {
        store: { lateCompletions: { sent: 1, refused: 1 }, faults: [] },
        lateWrites: { sent: 1, refused: 0, letThrough: [{ fault: "block" }] },
        repeats: { madeAgain: [{ fault: "kill-before-complete" }] },
      },
    });
  });

  it("makes no store where there is none", async () => {
    const url = await emptyDatabase(18);
    const { code, stderr } = await cli(["drill", "--store", url], { cwd: folder() });
    expect({ code, stderr }).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/There is no store at/),
    });
    expect(await rowsOf(url, "select nspname from pg_namespace where nspname like 'leasehold%'")).toEqual([]);
  });
});

optional("drill with Redis as destination", missingRedis(), () => {
  it("sees it refuse and answer, and leaves nothing on the server", SLOW, async () => {
    const server = await RedisServer.start();
    try {
      const cwd = folder();
      expect((await cli(["migrate"], { cwd })).code).toBe(0);
      const args = [
        "drill",
        "--destination",
        `redis://127.0.0.1:${server.port}`,
        "--rounds",
        "1",
        "--lease",
        "2s",
      ];
      const report = await cliJson<Report>([...args, "--faults", "pause,kill-before-complete"], { cwd });
      expect(report, JSON.stringify(report.figures)).toMatchObject({
        exit: 0,
        figures: { lateWrites: { sent: 1, refused: 1 }, repeats: { sent: 1, answered: 1 } },
      });
      expect(await server.command("DBSIZE")).toBe(0);
    } finally {
      await server.close();
    }
  });
});
