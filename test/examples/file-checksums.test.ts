import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { loadDriver } from "../../src/stores/sqlite/driver.ts";
import { folder, killGroup, type Options, ROOT, type Running, startProcess } from "../cli/support.ts";
import { optional } from "../support/optional.ts";
import { emptyDatabase, rowsOf } from "../support/postgres-database.ts";
import { missingPostgres } from "../support/postgres-server.ts";
import { seededRandom } from "../support/seed.ts";

const START = join(ROOT, "examples", "file-checksums", "start.js");

function start(args: readonly string[], options: Options): Running {
  return startProcess(START, args, options);
}

/** A folder `files` with so many small files, some of them below others. */
function filesIn(cwd: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const below = join(cwd, "files", i % 3 === 0 ? `sub ${i % 9}` : "");
    mkdirSync(below, { recursive: true });
    const path = join(below, `file-${i}.txt`);
    writeFileSync(path, `line\n`.repeat(i % 50));
    return path;
  });
}

const SELECT = "select path, sha256, lines, bytes, generation from";

/** Every row that any run has written. */
async function rows(cwd: string): Promise<Record<string, unknown>[]> {
  const { Database } = await loadDriver();
  const database = new Database(join(cwd, "file-checksums.db"));
  try {
    return database.prepare(`${SELECT} checksum order by path`).all();
  } finally {
    database.close();
  }
}

async function postgresRows(url: string): Promise<Record<string, unknown>[]> {
  const found = await rowsOf(url, `${SELECT} file_checksums.checksum order by path collate "C"`);
  return found.map(({ path, sha256, ...numbers }) => {
    const values = Object.entries(numbers).map(([name, value]) => [name, Number(value)]);
    return { path, sha256, ...Object.fromEntries(values) };
  });
}

/** The whole story, with one worker frozen, and then each row. */
async function hasOneRowEach(
  cwd: string,
  more: readonly string[],
  read: () => Promise<Record<string, unknown>[]>,
): Promise<void> {
  const files = filesIn(cwd, 60);
  const { code, stdout } = await start(["files", ...more], { cwd }).ended;
  expect(stdout).toMatch(/^60 files below /m);
  expect(stdout).toMatch(/^Worker 1 is frozen with 4 files hashed and not yet written\.$/m);
  expect(stdout).toMatch(/^\d+ jobs were reclaimed/m);
  expect(stdout).toMatch(/^\d+ late writes were refused:\n {2}generation 1, current 2: .*file-\d+\.txt$/m);
  expect(stdout.match(/^ok /gm)).toHaveLength(3);
  expect(code).toBe(0);

  const expected = files.sort().map((path) => {
    const content = readFileSync(path);
    return {
      path,
      sha256: createHash("sha256").update(content).digest("hex"),
      lines: content.toString().split("\n").length - 1,
      bytes: content.length,
      generation: expect.any(Number),
    };
  });
  const written = await read();
  expect(written).toEqual(expected);
  expect(written.filter(({ generation }) => generation === 2).length).toBeGreaterThanOrEqual(4);
}

describe("npm start", () => {
  it("has one right row for each file, although a worker was frozen and wrote late", async () => {
    const cwd = folder();
    await hasOneRowEach(cwd, [], () => rows(cwd));

    // Done is done: the next start is a new scan.
    const again = start(["files"], { cwd, ownGroup: true });
    expect((await again.saw(/files below .*/))[0]).not.toContain("done in an earlier run");
    killGroup(again);
  }, 60_000);

  it("killed three times at random and then left alone has exactly one row for each file", async () => {
    const cwd = folder();
    const files = filesIn(cwd, 500);
    const random = seededRandom("npm start killed");
    for (let kill = 1; kill <= 3; kill++) {
      const running = start(["files"], { cwd, ownGroup: true });
      await running.saw(kill === 2 ? /is frozen/ : /files below/);
      await sleep(random() * 500);
      killGroup(running);
      await running.ended;
    }
    const { code, stdout } = await start(["files"], { cwd }).ended;
    expect(stdout).toMatch(/^500 files below .*, \d+ of them done in an earlier run$/m);
    expect(stdout).toMatch(/ok +every file has exactly one row: 500 rows for 500 files/);
    expect(code).toBe(0);
    expect((await rows(cwd)).map(({ path }) => path)).toEqual(files.sort());
  }, 120_000);

  optional("on PostgreSQL 18", missingPostgres(18), () => {
    it("has one right row for each file, in a schema of its own beside the store's", async () => {
      const url = await emptyDatabase(18);
      await hasOneRowEach(folder(), ["--store", url], () => postgresRows(url));
    }, 60_000);
  });

  it("says when there is no such folder", async () => {
    const { code, stderr } = await start(["nowhere"], { cwd: folder() }).ended;
    expect([code, stderr]).toEqual([2, expect.stringMatching(/There is no folder .*nowhere/)]);
  });
});
