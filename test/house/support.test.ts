import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { nodeBinaries } from "../support/nodes.ts";
import { missingCommand, optional } from "../support/optional.ts";
import { seed, seededRandom } from "../support/seed.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

describe("seed", () => {
  const draw = (name: string) => Array.from({ length: 1_000 }, seededRandom(name));

  it("draws the same numbers for the same name", () => expect(draw("a")).toEqual(draw("a")));
  it("draws other numbers for another name", () => expect(draw("a")).not.toEqual(draw("b")));
  it("draws from [0, 1), evenly enough", () => {
    const drawn = draw("a");
    expect(drawn.every((number) => number >= 0 && number < 1)).toBe(true);
    expect(drawn.reduce((sum, number) => sum + number) / drawn.length).toBeCloseTo(0.5, 1);
  });
  it("is the one of the environment when that names one", () => {
    expect(String(seed)).toBe(process.env["SEED"] || String(seed));
  });
});

describe("an optional part", () => {
  /** Runs the fixture (one plain test, one part that is there, one that is not, one that is forbidden) in a vitest of its own. */
  async function tallied(requireAll: string): Promise<unknown> {
    const folder = mkdtempSync(join(tmpdir(), "leasehold-tally-"));
    const tally = join(folder, "tally.json");
    const fixtures = join(root, "test/house/fixtures");
    const reporter = `--reporter=${join(root, "scripts/tally-reporter.js")}`;
    const args = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", fixtures, reporter];
    const env = { ...process.env, LEASEHOLD_TALLY: tally, LEASEHOLD_REQUIRE_ALL: requireAll };
    try {
      await run(process.execPath, args, { env }).catch(() => {}); // the tally tells what failed
      return JSON.parse(readFileSync(tally, "utf8"));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  it("that is missing is skipped, and named with its reason", async () => {
    expect(await tallied("")).toEqual({
      passed: 2,
      failed: 0,
      skipped: 2,
      notRun: ["absent: there is none", "forbidden: the machine forbids it"],
      conformance: [],
    });
  });

  it("that is missing fails where every part is asked for; what the machine forbids is still named", async () => {
    const notRun = ["forbidden: the machine forbids it"];
    expect(await tallied("1")).toMatchObject({ passed: 2, failed: 1, skipped: 1, notRun });
  });

  it("can be a command", () => {
    expect(missingCommand("no-such-command")).toBe("`no-such-command` is not installed");
  });
});

describe("each Node binary", () => {
  for (const { name, version, path, missing } of nodeBinaries()) {
    optional(`${name} (${version})`, missing, () => {
      it("runs, and is what its name says", async () => {
        expect((await run(path, ["--version"])).stdout.trim()).toBe(`v${version}`);
      });
    });
  }
});
