import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder, ROOT, startProcess } from "../cli/support.ts";
import { optional } from "../support/optional.ts";
import { emptyDatabase, rowsOf } from "../support/postgres-database.ts";
import { missingPostgres } from "../support/postgres-server.ts";
import { missingRedis, RedisServer } from "../support/redis-server.ts";

/** Everything that it prints. */
const STORY = [
  "A claims the job at generation 1, and is stopped for longer than its lease\\.",
  "B claims it at generation 2, and writes\\.",
  "A goes on, and writes with generation 1: refused",
  " {2}job:\\S+: a write with generation 1 refused, the destination has seen 2\\. Stop: a later owner is at work\\. .*",
  "In the destination: written by B",
].join("\n");

async function isRefused(kind: string, args: readonly string[] = []): Promise<void> {
  const program = join(ROOT, "examples", "late-writes", `${kind}.js`);
  const { code, stdout, stderr } = await startProcess(program, args, { cwd: folder() }).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(new RegExp(`^${STORY}\n$`));
}

describe("the example of a late write", () => {
  for (const kind of ["sqlite", "http", "file"])
    it(`is refused by ${kind}, with both generations`, () => isRefused(kind), 60_000);

  optional("the example of a late write on PostgreSQL 18", missingPostgres(18), () => {
    it("is refused by postgres, with both generations, and leaves nothing there", async () => {
      const url = await emptyDatabase(18);
      await isRefused("postgres", [url]);
      expect(await rowsOf(url, "select 1 from pg_namespace where nspname like 'late%'")).toEqual([]);
    }, 60_000);
  });

  optional("the example of a late write on Redis", missingRedis(), () => {
    it("is refused by redis, with both generations, and leaves nothing there", async () => {
      const server = await RedisServer.start();
      onTestFinished(() => server.close());
      await isRefused("redis", [`redis://127.0.0.1:${server.port}`]);
      expect(await server.command("DBSIZE")).toBe(0);
    }, 60_000);
  });

  it("says what the one on PostgreSQL needs", async () => {
    const program = join(ROOT, "examples", "late-writes", "postgres.js");
    const { code, stderr } = await startProcess(program, [], { cwd: folder() }).ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining("Give the address of a PostgreSQL server")]);
  });
});
