/** The README's section is made from a run's figures by a program, never by hand. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { page, ROOT } from "./markdown.ts";

const folder = mkdtempSync(join(tmpdir(), "leasehold-how-fast-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the README's section on speed", () => {
  it("is what bench/readme.js makes of the newest full run", () => {
    const [, between] =
      /<!-- How fast: written by bench\/readme\.js -->\n([\s\S]*?)\n<!-- How fast: end -->/.exec(
        page("README.md"),
      ) ?? [];
    expect(between).toBe(printed());
  });

  it("names the machine, versions and settings, and has medians beside how many times better ours is", () => {
    const file = join(folder, "2026-01-02T03-04-05-678Z-full.json");
    writeFileSync(file, JSON.stringify(REPORT));
    const text = printed(file);
    expect(text).toContain(
      "An Engine 9000, 2 cores, 24 GiB, linux 6 x64, Node 20.20.2, PostgreSQL 18.4, 2026-01-02",
    );
    expect(text).toContain("medians of 3 rounds");
    expect(text).toContain("| leasehold on PostgreSQL 1.0.0 |  | 900/s |");
    expect(text).toContain("| another 2.3.4 |  | 300/s (3.0x) |");
    expect(text).toContain("| 4.0 / 9.9 ms (2.0x) |");
    expect(text).toContain("another: batches of 7");
    expect(text).toContain("(bench/results/2026-01-02T03-04-05-678Z-full.json)");
  });
});

function printed(...args: string[]): string {
  return execFileSync(process.execPath, ["bench/readme.js", "--print", ...args], {
    cwd: ROOT,
    encoding: "utf8",
  });
}

const row = (id: string, unit: string, ours: number[][], theirs: number[][]) => ({
  id,
  unit,
  figures: { "leasehold on PostgreSQL": ours, another: theirs },
});

const REPORT = {
  startedAt: "2026-01-02T03:04:05.678Z",
  machine: { cpu: "An Engine 9000", cores: 2, memoryGiB: 24, system: "linux 6 x64", node: "v20.20.2" },
  systems: {
    postgres: [
      { name: "leasehold on PostgreSQL", version: "1.0.0", settings: "defaults" },
      { name: "another", version: "2.3.4", settings: "batches of 7" },
    ],
  },
  servers: { PostgreSQL: { version: "18.4", settings: {} } },
  method: { rounds: 3, payloadBytes: 110 },
  cases: [
    row("B1 enqueue 32 in flight", "jobs/s", [[800], [900], [1000]], [[200], [300], [700]]),
    row("B3 wake-up other", "ms", [[1, 2, 3]], [[2, 4, 10]]),
  ],
};
