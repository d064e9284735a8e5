import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Report } from "../../src/cli/drill/report.ts";
import { openDatabase } from "../../src/stores/sqlite/index.ts";
import { type Block, blocksOf, matching, page } from "../docs/markdown.ts";
import { eventually } from "../support/eventually.ts";
import { cli, cliJson, enqueued, file, folder, startCli, withStore } from "./support.ts";

/** A destination of the caller's own, of one process at a time: an honest one, or one that only looks like it. */
const ledger = ({ isHonest }: { isHonest: boolean }): string => `
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { defineJob, StaleTokenError } from "leasehold";
const path = new URL("./ledger.ndjson", import.meta.url);
const rows = () => (existsSync(path) ? readFileSync(path, "utf8").trim().split("\\n").map((row) => JSON.parse(row)) : []);
const ofLine = (line) => rows().filter((row) => row.line === line);
const charge = defineJob({
  name: "charge",
  run({ input, lease: { token, effectScope } }) {
    console.log("writes", process.pid);
    const { line, generation } = token;
    const seen = ofLine(line);
    const mark = Math.max(0, ...seen.map((row) => row.generation));
    const isStale = ${isHonest} ? generation < mark : generation < 0;
    if (isStale) throw new StaleTokenError(token, { generation: mark, owner: "a later owner" });
    if (${isHonest} && seen.some((row) => row.key === effectScope)) return;
    appendFileSync(path, JSON.stringify({ line, generation, key: effectScope, cents: input.cents }) + "\\n");
  },
});
export const drill = {
  level: "fenced + deduplicated",
  write: (context) => charge.run({ ...context, input: { cents: 1 } }),
  read: ({ line }) => ofLine(line),
  probe: () => ({ isProven: true }),
  remove: () => rmSync(path, { force: true }),
};
`;

/** A folder with a store that has a job of somebody else's. */
async function withStoreIn(): Promise<{ cwd: string; jobId: string }> {
  const cwd = folder();
  return { cwd, jobId: await enqueued(cwd, "mail", { to: "Ada" }) };
}

/** With leases that a busy machine does not let lapse before the fault comes. */
const drilled = (cwd: string, ...args: string[]) =>
  cliJson<Report>(["drill", "--rounds", "1", "--lease", "2s", ...args], { cwd });

/** Each fault costs a lease, and the start of a process or two. */
const SLOW = { timeout: 120_000 };

describe("drill", SLOW, () => {
  it("sees every fault refused by a SQLite store and a fenced destination, and leaves other jobs alone", async () => {
    const { cwd, jobId } = await withStoreIn();
    const report = await drilled(cwd, "--seed", "7");
    expect(report, JSON.stringify(report.figures)).toMatchObject({
      ok: true,
      exit: 0,
      seed: 7,
      rounds: 6,
      destination: { name: "sqlite", level: "fenced + deduplicated", probe: { isProven: true } },
      figures: {
        reclaims: { count: 5 },
        store: {
          lateRenewals: { sent: 3, refused: 3 },
          lateCompletions: { sent: 3, refused: 3 },
          repeatedCompletions: { sent: 1, already: 1 },
          faults: [],
        },
        lateWrites: { sent: 3, refused: 3, letThrough: [], failed: [] },
        repeats: { sent: 2, answered: 2, madeAgain: [], failed: [] },
        overlaps: { runs: 3, leases: 0 },
        brokenOff: [],
      },
      stays: [expect.stringMatching(/^the empty queue leasehold-drill-/)],
    });
    const { p50Ms, p99Ms } = report.figures.reclaims;
    expect(p99Ms).toBeGreaterThanOrEqual(p50Ms as number);
    await withStore(cwd, async (leasehold) => {
      const { jobs } = await leasehold.list();
      expect(jobs).toMatchObject([{ jobId, state: "ready", generation: 0 }]);
    });
  });

  it("tells what a blind destination lets through, by line, generation and key, and exits with 1", async () => {
    const { cwd } = await withStoreIn();
    const report = await drilled(cwd, "--destination", "blind", "--faults", "pause,lost-reply");
    expect(report, JSON.stringify(report.figures)).toMatchObject({
      ok: false,
      exit: 1,
      destination: { level: "at least once", probe: { isProven: false } },
      figures: {
        store: { lateRenewals: { sent: 1, refused: 1 }, faults: [] },
        lateWrites: {
          sent: 1,
          refused: 0,
          letThrough: [
            {
              fault: "pause",
              line: expect.stringMatching(/^job:/),
              key: expect.stringMatching(/^job:.*\/1$/),
            },
          ],
        },
        repeats: { sent: 1, answered: 0, madeAgain: [{ fault: "lost-reply" }] },
      },
      verdict: { destination: expect.stringMatching(/^LET THROUGH 1 of 1 late write;/) },
    });
    const [late] = report.figures.lateWrites.letThrough;
    expect(late?.generation).toBeLessThan(late?.current as number);
  });

  it("exits with 0 for the same when no more was expected of it", async () => {
    const { cwd } = await withStoreIn();
    const args = ["--destination", "blind", "--faults", "cut-off", "--expect", "at-least-once"];
    const report = await drilled(cwd, ...args);
    expect(report).toMatchObject({ ok: true, exit: 0, figures: { lateWrites: { letThrough: [{}] } } });
  });

  it("says of a file that it refuses what is late and makes repeats again, as its level promises", async () => {
    const { cwd } = await withStoreIn();
    const report = await drilled(cwd, "--destination", "file", "--faults", "block,kill-before-complete");
    expect(report, JSON.stringify(report.figures)).toMatchObject({
      exit: 0,
      destination: { level: "fenced" },
      figures: { lateWrites: { sent: 1, refused: 1 }, repeats: { sent: 1, madeAgain: [{}] } },
    });
  });

  it("proves an HTTP service", async () => {
    const { cwd } = await withStoreIn();
    const report = await drilled(cwd, "--destination", "http", "--faults", "pause,lost-reply");
    expect(report, JSON.stringify(report.figures)).toMatchObject({
      exit: 0,
      figures: { lateWrites: { sent: 1, refused: 1 }, repeats: { sent: 1, answered: 1 } },
    });
  });
});

describe("drill --jobs", SLOW, () => {
  it("runs the caller's own handler as the destination, and takes away what it wrote", async () => {
    const { cwd } = await withStoreIn();
    file(cwd, "jobs.mjs", ledger({ isHonest: true }));
    const report = await drilled(cwd, "--jobs", "jobs.mjs", "--faults", "pause,kill-before-complete");
    expect(report, JSON.stringify(report.figures)).toMatchObject({
      ok: true,
      exit: 0,
      figures: {
        lateWrites: { sent: 1, refused: 1, refusal: expect.stringContaining("the destination has seen 2") },
        repeats: { sent: 1, answered: 1 },
      },
    });
    expect(() => readFileSync(join(cwd, "ledger.ndjson"))).toThrow("ENOENT");
  });

  it("reports a broken guard that declares what it does not do", async () => {
    const { cwd } = await withStoreIn();
    file(cwd, "jobs.mjs", ledger({ isHonest: false }));
    const report = await drilled(cwd, "--jobs", "jobs.mjs", "--faults", "pause,kill-before-complete");
    expect(report).toMatchObject({
      ok: false,
      exit: 1,
      verdict: {
        store: expect.stringMatching(/^refused all 2/),
        destination: expect.stringMatching(
          /^LET THROUGH 1 of 1 late write, although it declares "fenced \+ deduplicated"; made 1 of 1 .* again, although/,
        ),
      },
    });
  });

  it("prints what the how-to page shows", async () => {
    const { cwd } = await withStoreIn();
    const blocks = blocksOf(page("docs/how-to/drill.md"));
    const text = (of: (block: Block) => boolean): string =>
      blocks.filter(of).at(-1)!.text.replace("app.db", "leasehold.db");
    file(
      cwd,
      "ledger.mjs",
      text(({ marks }) => marks[0] === "file"),
    );
    const [, , ...args] = text(({ language }) => language === "sh")
      .trim()
      .split(" ");
    // A machine that runs other tests as well may be late for a lease of a second.
    const { code, stdout } = await cli([...args, "--lease", "3s"], { cwd });
    expect(stdout).toMatch(matching(text(({ marks }) => marks[0] === "output")));
    expect(code).toBe(1);
  });

  it("stopped in the middle it ends its processes, stopped ones too, and takes its jobs away", async () => {
    const { cwd, jobId } = await withStoreIn();
    file(cwd, "jobs.mjs", ledger({ isHonest: true }));
    const args = ["drill", "--jobs", "jobs.mjs", "--faults", "pause", "--json"];
    const running = startCli(args, { cwd });
    // B writes while A is stopped.
    const [, pid] = await running.saw(/writes (\d+)/);
    running.child.kill("SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ interruptedBy: "SIGINT" });
    await eventually("B to be gone", () => isGone(Number(pid)));
    await withStore(cwd, async (leasehold) => {
      expect((await leasehold.list()).jobs).toMatchObject([{ jobId, state: "ready" }]);
    });
  });
});

describe("drill reports a store", SLOW, () => {
  it("in which a takeover does not take, as broken, with what it let through", async () => {
    const { cwd } = await withStoreIn();
    const database = await openDatabase(join(cwd, "leasehold.db"));
    // Whoever held the job before stays its owner, whatever the claim answered.
    database.exec(`
      create trigger broken after update of owner on leasehold_job
        when old.owner is not null and new.owner is not null and new.owner <> old.owner
      begin
        update leasehold_job set owner = old.owner, generation = old.generation where seq = new.seq;
      end`);
    database.close();
    const report = await drilled(cwd, "--faults", "pause");
    expect(report, JSON.stringify(report.figures)).toMatchObject({
      ok: false,
      exit: 1,
      verdict: { store: expect.stringMatching(/^BROKEN: /) },
      figures: {
        store: {
          lateRenewals: { sent: 1, refused: 0 },
          lateCompletions: { sent: 1, refused: 0 },
          faults: expect.arrayContaining([
            expect.objectContaining({
              what: "a late completion with generation 1 was not refused: it was applied",
            }),
          ]),
        },
        lateWrites: { sent: 1, refused: 1 },
      },
    });
  });

  it("of an older schema as not migrated, and leaves it as it is", async () => {
    const { cwd } = await withStoreIn();
    const path = join(cwd, "leasehold.db");
    const older = await openDatabase(path);
    older.exec("update leasehold_store set schema_version = schema_version - 1");
    const schema = older.prepare("select schema_version from leasehold_store").get();
    older.close();
    const { code, stdout, stderr } = await cli(["drill"], { cwd });
    expect(stderr).toMatch(
      /has schema \d+, and this version of leasehold needs \d+\. Run `leasehold migrate`/,
    );
    expect([code, stdout]).toEqual([4, ""]);
    const after = await openDatabase(path);
    expect(after.prepare("select schema_version from leasehold_store").get()).toEqual(schema);
    after.close();
  });
});

describe("drill refuses wrong usage before anything is made", () => {
  const cases: [title: string, args: string[], code: number, message: RegExp][] = [
    ["a store that is not there", ["--store", "typo.db"], 4, /There is no store at .*typo\.db/],
    [
      "a destination that is none",
      ["--destination", "ftp://u:secret@h"],
      2,
      /give one of sqlite, .*, blind\./,
    ],
    [
      "two destinations",
      ["--destination", "blind", "--jobs", "jobs.mjs"],
      2,
      /give it or --destination, not both/,
    ],
    ["no rounds", ["--rounds", "0"], 2, /whole number, 1 or more/],
    ["too many rounds", ["--rounds", "1001"], 2, /at most 1000/],
    ["a lease that is too short", ["--lease", "100ms"], 2, /250ms to 1m/],
    ["a fault that is none", ["--faults", "pause,fire"], 2, /pause, block, cut-off/],
    ["a level that is none", ["--expect", "exactly-once"], 2, /at-least-once, deduplicated, fenced/],
    ["a missing module", ["--jobs", "gone.mjs"], 2, /--jobs: there is no file .*gone\.mjs/],
    ["a module without consent", ["--jobs", "plain.mjs"], 2, /exports no `drill`[\s\S]*effects are real/],
    [
      "a level of its own",
      ["--jobs", "level.mjs"],
      2,
      /drill\.level .* "exactly once"\. Give one of "fenced \+/,
    ],
    ["a missing read", ["--jobs", "unread.mjs"], 2, /drill\.read of .* is no function/],
  ];
  for (const [title, args, code, message] of cases) {
    it(title, async () => {
      const { cwd, jobId } = await withStoreIn();
      file(cwd, "jobs.mjs", ledger({ isHonest: true }));
      file(cwd, "plain.mjs", "export const a = 1;");
      file(cwd, "level.mjs", 'export const drill = { level: "exactly once", write() {}, read() {} };');
      file(cwd, "unread.mjs", 'export const drill = { level: "fenced", write() {} };');
      const ended = await cli(["drill", ...args], { cwd });
      expect(ended.stderr).toMatch(message);
      expect(ended.stderr).not.toContain("secret");
      expect([ended.code, ended.stdout]).toEqual([code, ""]);
      await withStore(cwd, async (leasehold) => {
        expect((await leasehold.list()).jobs.map((job) => job.jobId)).toEqual([jobId]);
        expect((await leasehold.counts()).map(({ queue }) => queue)).toEqual(["mail"]);
      });
    });
  }
});

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
