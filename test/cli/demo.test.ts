import { describe, expect, it, onTestFinished } from "vitest";
import type { Check } from "../../src/cli/demo/checks.ts";
import type { Told } from "../../src/cli/demo/story.ts";
import type { JournalEntry } from "../../src/index.ts";
import { optional } from "../support/optional.ts";
import { emptyDatabase, rowsOf } from "../support/postgres-database.ts";
import { missingPostgres } from "../support/postgres-server.ts";
import { missingRedis, RedisServer } from "../support/redis-server.ts";
import { cli, cliJson, folder, startCli } from "./support.ts";

describe("demo", () => {
  it("plays protocol section 7: every late step of A is refused with both generations, and the job ends once", async () => {
    const { code, stdout, stderr } = await cli(["demo"], { cwd: folder() });
    expect(stderr).toBe("");
    expect(stdout).toMatch(
      new RegExp(
        [
          "The account is behind leasehold/destinations/sqlite: fenced \\+ deduplicated; a stale write .* was refused",
          "A +claims it at generation 7\\.",
          "A .*is frozen \\(SIGSTOP\\)",
          "B +claims the job at generation 8: the lease of generation 7 ended \\d+ ms ago",
          "B +writes to the account, which is fenced: applied",
          "A +wakes \\(SIGCONT\\)",
          "A +✗ its renewal is refused as stale \\(reclaimed\\): generation 7, the current one is 8",
          "A +✗ its completion is refused as stale \\(reclaimed\\): generation 7, the current one is 8",
          "A +✗ its write to the account is refused, because 7 < 8: job:\\S+: a write with generation 7 refused, the destination has seen 8",
          "A +repeats its payment: answered from the first request's record",
          "B +completes the job: applied",
          "The job's journal:",
          "REFUSED renew by \\S+: generation 7, the current one is 8",
          "REFUSED complete by \\S+: generation 7, the current one is 8",
          "completed by",
          "The account:\n  1999 cents, written by generation 8\n",
        ].join("[\\s\\S]*"),
      ),
    );
    expect(stdout.match(/^ok /gm)).toHaveLength(10);
    expect(stdout).not.toContain("MISSING");
    expect(code).toBe(0);
  });

  for (const kind of ["sqlite", "http", "file"] as const)
    it(`tells it as JSON, with the account behind ${kind}`, () => tellsIt(kind, kind));

  optional("demo with the account behind postgres", missingPostgres(18), () => {
    it("tells it as JSON, and leaves nothing on the server", async () => {
      const url = await emptyDatabase(18);
      await tellsIt("postgres", url);
      expect(await rowsOf(url, "select nspname from pg_namespace where nspname like 'leasehold%'")).toEqual(
        [],
      );
    });

    it("stopped in the middle it leaves nothing on the server either", async () => {
      const url = await emptyDatabase(18);
      const running = startCli(["demo", "--destination", url], { cwd: folder() });
      await running.saw(/is frozen/);
      running.child.kill("SIGINT");
      expect((await running.ended).code).toBe(130);
      expect(await rowsOf(url, "select nspname from pg_namespace where nspname like 'leasehold%'")).toEqual(
        [],
      );
    });
  });

  optional("demo with the account behind redis", missingRedis(), () => {
    it("tells it as JSON, and leaves nothing on the server", async () => {
      const server = await RedisServer.start();
      onTestFinished(() => server.close());
      await tellsIt("redis", `redis://127.0.0.1:${server.port}`);
      expect(await server.command("DBSIZE")).toBe(0);
    });
  });

  it("says what it needs of a destination", async () => {
    const demo = (destination: string) => cli(["demo", "--destination", destination], { cwd: folder() });
    const [server, unknown] = [await demo("postgres"), await demo("ftp://user:secret@host")];
    expect([server.code, unknown.code]).toEqual([2, 2]);
    expect(server.stderr).toContain("Give its address, postgres://USER:PASSWORD@HOST:PORT/DATABASE");
    expect(unknown.stderr).toContain(
      "give one of sqlite, postgres://USER:PASSWORD@HOST:PORT/DATABASE, http, redis://HOST:PORT, file",
    );
    expect(unknown.stderr).not.toContain("secret");
  });
});

async function tellsIt(kind: string, destination: string): Promise<void> {
  const told = await cliJson<{ steps: Told[]; journal: JournalEntry[]; checks: Check[] }>(
    ["demo", "--destination", destination],
    { cwd: folder() },
  );
  expect(told).toMatchObject({
    ok: true,
    exit: 0,
    job: { state: "completed" },
    destination: {
      kind,
      level: kind === "file" ? "fenced" : "fenced + deduplicated",
      probe: { isProven: true },
      refusal: expect.stringContaining("a write with generation 7 refused, the destination has seen 8."),
      entries: [{ generation: 8, cents: 1_999 }],
    },
  });
  expect(told.steps.filter(({ refused }) => refused)).toHaveLength(3);
  expect(told.journal.filter(({ kind }) => kind === "refused")).toMatchObject([
    { operation: "renew", generation: 7, current: 8 },
    { operation: "complete", generation: 7, current: 8 },
  ]);
  expect(told.checks.every(({ ok }) => ok)).toBe(true);
}
