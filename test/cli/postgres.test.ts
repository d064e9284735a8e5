import pg from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { optional } from "../support/optional.ts";
import { missingPostgres, postgresServer } from "../support/postgres-server.ts";
import { cli, cliJson, file, folder, JOBS, startCli } from "./support.ts";

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
      expect((await cli(["migrate", "--store", store], { cwd })).stdout).toMatch(/schema 1, .*applied/);
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
      file(cwd, "in.ndjson", Array.from({ length: 200 }, (_, n) => `{"n":${n}}`).join("\n"));
      const args = ["batch", "jobs.mjs", "--job", "note", "--input", "in.ndjson", "--processes", "2"];
      const { code, stderr } = await cli([...args, "--store", store], { cwd });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      const counts = JSON.parse((await cli(["queues", "--json", "--store", store], { cwd })).stdout);
      expect(JSON.stringify(counts)).toContain('"completed":200');
    });

    it("enqueues, runs, shows, retries, cancels and deletes jobs", async () => {
      const cwd = folder();
      file(cwd, "jobs.mjs", JOBS);
      const env = { LEASEHOLD_STORE: await newAddress() };
      const json = async (...args: string[]) =>
        JSON.parse((await cli([...args, "--json"], { cwd, env })).stdout);

      const later = await json("enqueue", "note", '{"n":1}', "--delay", "1h");
      const jobId = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11";
      const failing = ["enqueue", "broken", "--module", "jobs.mjs", "--job-id", jobId, "--wait"];
      const waiting = startCli(failing, { cwd, env });
      const worker = startCli(["work", "jobs.mjs", "--json"], { cwd, env });
      expect((await waiting.ended).code).toBe(1); // told by a worker in another process
      worker.child.kill("SIGTERM");
      expect((await worker.ended).stdout).toMatch(/"completed":0,"failed":1/);

      const listed = await json("list", "--state", "failed,ready");
      expect(listed.jobs).toMatchObject([
        { jobId, name: "broken", state: "failed", generation: 1 },
        { jobId: later.jobId, name: "note", state: "ready", input: { n: 1 } },
      ]);
      expect(await json("show", jobId)).toMatchObject({
        job: { jobId, error: { message: "no such account" } },
        journal: [{ kind: "enqueued" }, { kind: "claimed" }, { kind: "failed" }],
      });
      expect(await json("retry", jobId)).toMatchObject([{ jobId, outcome: "applied", state: "ready" }]);
      expect(await json("cancel", jobId, later.jobId)).toMatchObject([
        { jobId, outcome: "applied", state: "cancelled" },
        { jobId: later.jobId, outcome: "applied", state: "cancelled" },
      ]);
      expect(await json("delete", jobId)).toMatchObject([{ jobId, outcome: "applied" }]);
      expect((await cli(["show", jobId], { cwd, env })).code).toBe(3);
      expect(await json("queues", "pause", "note")).toMatchObject([{ queue: "note", paused: true }]);
      expect(await json("queues")).toMatchObject([
        { queue: "broken", failed: 0, cancelled: 0, paused: false },
        { queue: "note", ready: 0, cancelled: 1, paused: true },
      ]);
    }, 60_000);

    it("revokes a job that another process runs, and that one hears of it", async () => {
      const cwd = folder();
      file(cwd, "jobs.mjs", JOBS.replaceAll("1_000", "8_000")); // renewed every few seconds
      const env = { LEASEHOLD_STORE: await newAddress() };
      const { jobId } = await cliJson<{ jobId: string }>(["enqueue", "slow", "--module", "jobs.mjs"], {
        cwd,
        env,
      });
      const worker = startCli(["work", "jobs.mjs"], { cwd, env });
      await worker.saw(/slow began/);
      const { code, stdout } = await cli(["revoke", jobId, "--json"], { cwd, env });
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject([
        { jobId, outcome: "applied", token: { line: `job:${jobId}`, generation: 2 } },
      ]);
      await worker.saw(/slow aborted/);
      worker.child.kill("SIGINT");
      await worker.saw(/finishing the running jobs/);
      worker.child.kill("SIGINT");
      expect((await worker.ended).code).toBe(130);
    });

    it("gives a named lease to one command at a time", async () => {
      const cwd = folder();
      const env = { LEASEHOLD_STORE: await newAddress() };
      const hold =
        "console.log('generation', process.env.LEASEHOLD_GENERATION); setInterval(() => {}, 1_000)";
      const command = ["--", process.execPath, "-e"];
      const first = startCli(["with-lease", "nightly", ...command, hold], { cwd, env });
      await first.saw(/generation 1/);
      expect((await cli(["with-lease", "nightly", ...command, ""], { cwd, env })).code).toBe(5);
      const next = startCli(["with-lease", "nightly", "--wait", "1m", ...command, hold], { cwd, env });
      first.child.kill("SIGTERM");
      await next.saw(/generation 2/);
      next.child.kill("SIGTERM");
      expect((await next.ended).code).toBe(143);
      const shown = await cliJson(["show", "lease:nightly"], { cwd, env });
      expect(shown).toMatchObject({ lease: { owner: null, generation: 2 } });
    });

    it("plays the demo, beside other jobs and after the floor was raised", async () => {
      const store = await newAddress();
      const cwd = folder();
      expect((await cli(["enqueue", "credit-account", "--store", store], { cwd })).code).toBe(0);
      expect((await cli(["raise-floor", "--store", store], { cwd })).code).toBe(0);
      const told = await cliJson(["demo", "--store", store], { cwd });
      expect(told).toMatchObject({ ok: true, exit: 0, job: { state: "completed" } });
      const left = await cliJson<{ jobs: object[] }>(["list", "--state", "ready", "--store", store], { cwd });
      expect(left.jobs).toMatchObject([{ name: "credit-account", generation: 0 }]);
    });

    it("is told that the server is out of reach, with the driver's reason", async () => {
      const cwd = folder();
      const { code, stderr } = await cli(["list", "--store", "postgres://127.0.0.1:1/x"], { cwd });
      expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringMatching(/ECONNREFUSED/) });
    });
  });
});
