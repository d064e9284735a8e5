import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/stores/doctor.ts";
import { openDatabase } from "../../src/stores/sqlite/index.ts";
import { cli, cliJson, enqueued, file, folder } from "./support.ts";

interface Report {
  readonly ok: boolean;
  readonly store: string;
  readonly findings: readonly Finding[];
}

const doctor = (cwd: string, store = "leasehold.db") =>
  cliJson<Report>(["doctor", "--store", store], { cwd });

/** All of it in the file itself, nothing left in the log beside it. */
async function newStore(): Promise<string> {
  const cwd = folder();
  await enqueued(cwd, "job");
  await tamper(cwd, "pragma wal_checkpoint(truncate)");
  return cwd;
}

async function tamper(cwd: string, sql: string): Promise<void> {
  const database = await openDatabase(join(cwd, "leasehold.db"));
  database.exec(sql);
  database.close();
}

function found({ findings }: Report, check: string): Finding | undefined {
  return findings.find((finding) => finding.check === check);
}

describe("leasehold doctor on a SQLite store", () => {
  it("finds a healthy one well, a line for each check, and leaves every byte as it is", async () => {
    const cwd = await newStore();
    const hash = () =>
      createHash("sha256")
        .update(readFileSync(join(cwd, "leasehold.db")))
        .digest("hex");
    const before = hash();
    const { code, stdout, stderr } = await cli(["doctor"], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [store, ...lines] = stdout.trimEnd().split("\n");
    expect(store).toBe(`sqlite ${join(cwd, "leasehold.db")}`);
    expect(lines.map((line) => line.slice(0, 22).trim().split(/ {2,}/))).toEqual(
      ["engine", "file", "file system", "schema", "durability", "history", "integrity"].map((check) => [
        "ok",
        check,
      ]),
    );
    expect(hash()).toBe(before);
    const log = join(cwd, "leasehold.db-wal");
    expect(existsSync(log) ? statSync(log).size : 0).toBe(0);
    expect(await doctor(cwd)).toMatchObject({ exit: 0, ok: true, store });
  });

  it("warns of synchronous=normal, and exits with 0", async () => {
    const report = await doctor(await newStore(), "sqlite:leasehold.db?synchronous=normal");
    expect(report).toMatchObject({ exit: 0, ok: true });
    expect(found(report, "durability")).toMatchObject({
      level: "warning",
      found: expect.stringMatching(/power cut may lose/),
      next: expect.stringMatching(/synchronous=full/),
    });
  });

  it("exits with 4 where there is no store, and makes none", async () => {
    const cwd = folder();
    for (const path of ["leasehold.db", "empty.db"]) {
      file(cwd, "empty.db", "");
      const report = await doctor(cwd, path);
      expect(report).toMatchObject({ exit: 4, ok: false });
      expect(found(report, "schema")).toMatchObject({
        level: "problem",
        next: expect.stringMatching(/leasehold migrate/),
      });
    }
    expect((await cli(["list"], { cwd })).stderr).toMatch(/There is no store/);
    expect(readFileSync(join(cwd, "empty.db"))).toHaveLength(0);
  });

  it("tells a schema that this version cannot work with from one that it can", async () => {
    const cwd = await newStore();
    await tamper(cwd, "update leasehold_store set schema_version = 999");
    const newer = await doctor(cwd);
    expect(newer).toMatchObject({ exit: 0, ok: true });
    expect(found(newer, "schema")).toMatchObject({ level: "warning" });
    await tamper(cwd, "update leasehold_store set works_with = 999");
    const tooNew = await doctor(cwd);
    expect(tooNew).toMatchObject({ exit: 4, ok: false });
    expect(found(tooNew, "schema")).toMatchObject({
      level: "problem",
      found: expect.stringMatching(/Schema \d+.*up to \d+/),
    });
  });

  it("exits with 1 on a damaged file", async () => {
    const cwd = await newStore();
    const path = join(cwd, "leasehold.db");
    const database = await openDatabase(path);
    const sql =
      "select rootpage, (select page_size from pragma_page_size) as size from sqlite_schema where name = ?";
    const page = database.prepare(sql).get("leasehold_journal") as { rootpage: number; size: number };
    database.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0, (page.rootpage - 1) * page.size, page.rootpage * page.size));
    const report = await doctor(cwd);
    expect(report).toMatchObject({ exit: 1, ok: false });
    expect(found(report, "integrity")).toMatchObject({
      level: "problem",
      found: expect.stringMatching(/damaged: /),
      next: expect.stringMatching(/backup/),
    });
  });

  it("exits with 4 on a file that is no database", async () => {
    const cwd = folder();
    file(cwd, "leasehold.db", "a text, and longer than the head of a database file would be, ".repeat(20));
    const report = await doctor(cwd);
    expect(report).toMatchObject({ exit: 4, ok: false });
    expect(found(report, "file")).toBeDefined();
    expect(report.findings.at(-1)).toMatchObject({
      level: "problem",
      found: expect.stringMatching(/not a database/),
    });
  });
});
