import { expect, it, vi } from "vitest";
import { jobLine } from "../../src/protocol/identity.ts";
import { brokenBy, i1TokenUnique, i5EndsOnce, i15AttemptsBounded } from "../../src/protocol/invariants.ts";
import { explore, type Visit } from "../support/explore.ts";
import { told } from "../support/histories.ts";

// Thousands of steps, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

/** Everything that must hold after a step, told with the history that broke it. */
function judge(visit: Visit): void {
  const broken = visit.transitions.flatMap(brokenBy);
  const grants = visit.after.grants.map((generation) => ({
    line: jobLine(visit.history[0]?.after?.jobId as never),
    generation,
  }));
  for (const verdict of [
    i1TokenUnique(grants),
    i15AttemptsBounded(visit.history),
    i5EndsOnce(visit.history),
  ]) {
    if (verdict !== undefined) broken.push(verdict);
  }
  if (broken.length > 0) throw new Error(`${broken.join("; ")} after: ${told(visit.steps)}`);
}

it("every history of two owners and one job keeps the invariants, up to six steps", () => {
  const { states } = explore(6, null, judge);
  expect(states).toBeGreaterThan(1_000);
});

it("and so with a resource, up to five steps", () => {
  const { states } = explore(5, "account:42", judge);
  expect(states).toBeGreaterThan(1_000);
});
