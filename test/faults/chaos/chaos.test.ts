import { expect, it } from "vitest";
import { optional } from "../../support/optional.ts";
import { missingProc } from "../../support/processes-in.js";
import { seed } from "../../support/seed.ts";
import { judge } from "./checker/judge.ts";
import { exitCodeOf } from "./checker/verdict.ts";
import type { Plan } from "./plan.ts";
import { asyncPlan, syncPlan } from "./plans/failover.ts";
import { partitionPlan } from "./plans/partition.ts";
import { poolerPlan, postgresPlan } from "./plans/postgres.ts";
import { sqlitePlan } from "./plans/sqlite.ts";
import { reportOf } from "./report.ts";
import { chaosRun, forget } from "./run.ts";

// One of them, drawn from the seed: there is time for no more. Long runs take them all.
const ALL = [sqlitePlan, postgresPlan(15), postgresPlan(18), poolerPlan, asyncPlan, syncPlan, partitionPlan];
const RUNS: readonly { readonly plan: Plan; readonly seconds: number }[] = [
  { plan: ALL[seed % ALL.length] as Plan, seconds: 20 },
];

const LONGEST_MS = 240_000;

for (const { plan, seconds } of RUNS) {
  optional(`chaos ${plan.name}`, missingProc ?? plan.missing?.(), () => {
    it("keeps every invariant while workers, servers, networks and clocks fail", {
      timeout: LONGEST_MS,
    }, async (context) => {
      const run = await chaosRun({ plan, seed, seconds });
      const verdict = judge(run.record);
      const report = reportOf(run.record, verdict);
      if (verdict.result === "void") {
        // Neither passed nor failed: on a machine that is too busy for enough faults, nothing is shown.
        forget(run);
        context.task.meta.notRun = `chaos ${plan.name}: void, too few faults were seen`;
        context.skip(report);
      }
      expect(exitCodeOf(verdict), `${report}\nkept in ${run.folder}`).toBe(0);
      forget(run);
    });
  });
}
