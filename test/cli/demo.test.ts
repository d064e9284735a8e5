import { describe, expect, it } from "vitest";
import type { Check, Told } from "../../src/cli/demo/story.ts";
import type { JournalEntry } from "../../src/index.ts";
import { cli, cliJson, folder } from "./support.ts";

describe("demo", () => {
  it("plays protocol section 7: every late step of A is refused with both generations, and the job ends once", async () => {
    const { code, stdout, stderr } = await cli(["demo"], { cwd: folder() });
    expect(stderr).toBe("");
    expect(stdout).toMatch(
      new RegExp(
        [
          "A +claims it at generation 7\\.",
          "A .*is frozen \\(SIGSTOP\\)",
          "B +claims the job at generation 8: the lease of generation 7 ended \\d+ ms ago",
          "B +writes to the account, which is fenced: applied; its mark is 8 now",
          "A +wakes \\(SIGCONT\\)",
          "A +✗ its renewal is refused as stale \\(reclaimed\\): generation 7, the current one is 8",
          "A +✗ its completion is refused as stale \\(reclaimed\\): generation 7, the current one is 8",
          "A +✗ its write to the account is refused, because 7 < 8",
          "A +repeats its payment: answered from the first request's record",
          "B +completes the job: applied",
          "The job's journal:",
          "REFUSED renew by \\S+: generation 7, the current one is 8",
          "REFUSED complete by \\S+: generation 7, the current one is 8",
          "completed by",
          "The account's own log:",
          "generation 8: applied; the mark is 8",
          "generation 7: refused; the mark is 8",
        ].join("[\\s\\S]*"),
      ),
    );
    expect(stdout.match(/^ok /gm)).toHaveLength(9);
    expect(stdout).not.toContain("MISSING");
    expect(code).toBe(0);
  });

  it("tells the same as JSON", async () => {
    const told = await cliJson<{ steps: Told[]; journal: JournalEntry[]; checks: Check[] }>(["demo"], {
      cwd: folder(),
    });
    expect(told).toMatchObject({ ok: true, exit: 0, job: { state: "completed" } });
    expect(told.steps.filter(({ refused }) => refused)).toHaveLength(3);
    expect(told.journal.filter(({ kind }) => kind === "refused")).toMatchObject([
      { operation: "renew", generation: 7, current: 8 },
      { operation: "complete", generation: 7, current: 8 },
    ]);
    expect(told.checks.every(({ ok }) => ok)).toBe(true);
  });
});
