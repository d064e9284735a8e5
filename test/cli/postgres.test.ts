import pg from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { optional } from "../support/optional.ts";
import { missingPostgres, postgresServer } from "../support/postgres-server.ts";
import { cli, file, folder } from "./support.ts";

const JOBS = `
import { defineJob } from "leasehold";
export const greet = defineJob({ name: "greet", run: ({ input }) => "Hello, " + input.name });
`;

/** A place for a store that nobody has made yet. */
async function newAddress(): Promise<string> {
  const server = await postgresServer(18, inject("servers"));
  const schema = `cli_${process.pid}_${Math.floor(performance.now() * 1_000)}`;
  onTestFinished(async () => {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    await client.query(`drop schema if exists ${schema} cascade`);
    await client.end();
  });
  const url = new URL(server);
  url.searchParams.set("schema", schema);
  return url.href;
}

optional("the command line on PostgreSQL 18", missingPostgres(18), () => {
  describe("with --store postgres://…", () => {
    it("makes the store, shows its schema, and says when there is none", async () => {
      const store = await newAddress();
      const cwd = folder();
      const none = await cli(["list", "--store", store], { cwd });
      expect(none).toMatchObject({ code: 4, stdout: "" });
      expect(none.stderr).toMatch(/There is no store at postgres .* schema cli_/);
      const dry = await cli(["migrate", "--dry-run", "--store", store], { cwd });
      expect(dry.stdout).toMatch(/^-- schema 1\n[\s\S]*create table "cli_\w+"\.job/);
      expect((await cli(["migrate", "--store", store], { cwd })).stdout).toMatch(/schema 1 applied/);
      const again = await cli(["migrate", "--dry-run", "--store", store], { cwd });
      expect(again).toMatchObject({ code: 0, stdout: "", stderr: expect.stringMatching(/up to date/) });
      expect((await cli(["raise-floor", "--store", store], { cwd })).code).toBe(0);
    });

    it("prints the whole of a migration: run by hand it makes a store that has nothing left to migrate", async () => {
      const store = await newAddress();
      const cwd = folder();
      const { stdout: sql } = await cli(["migrate", "--dry-run", "--store", store], { cwd });
      const byHand = new pg.Client({ connectionString: await postgresServer(18, inject("servers")) });
      await byHand.connect();
      await byHand.query(sql);
      await byHand.end();
      expect((await cli(["migrate", "--store", store], { cwd })).stdout).toMatch(/was up to date/);
      expect((await cli(["raise-floor", "--store", store], { cwd })).code).toBe(0);
    });

    it("runs a batch with two worker processes, whose renewers have connections of their own", async () => {
      const store = await newAddress();
      const cwd = folder();
      file(cwd, "jobs.mjs", JOBS);
      file(cwd, "in.ndjson", Array.from({ length: 200 }, (_, n) => `{"name":"${n}"}`).join("\n"));
      const args = ["batch", "jobs.mjs", "--job", "greet", "--input", "in.ndjson", "--processes", "2"];
      const { code, stderr } = await cli([...args, "--store", store], { cwd });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      const counts = JSON.parse((await cli(["queues", "--json", "--store", store], { cwd })).stdout);
      expect(JSON.stringify(counts)).toContain('"completed":200');
    });

    it("is told that the server is out of reach, with the driver's reason", async () => {
      const cwd = folder();
      const { code, stderr } = await cli(["list", "--store", "postgres://127.0.0.1:1/x"], { cwd });
      expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringMatching(/ECONNREFUSED/) });
    });
  });
});
