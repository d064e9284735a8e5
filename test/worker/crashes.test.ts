import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { Previous } from "../../src/protocol/claim.ts";
import { Child, type ChildOptions } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { onRealStores } from "../support/real-stores.ts";

function start(script: string, args: readonly string[], options?: ChildOptions): Child {
  const file = fileURLToPath(new URL(`processes/${script}.js`, import.meta.url));
  const child = new Child(file, args, options);
  onTestFinished(() => child.kill());
  return child;
}

/** As whoever runs services does: starts a process again whenever it has ended. Resolves to how often, when told to stop. */
function supervised(startOne: () => Child): { stop(): Promise<number> } {
  let isOver = false;
  let child = startOne();
  const lives = (async () => {
    for (let deaths = 0; ; deaths += 1) {
      await child.exited;
      if (isOver) return deaths;
      child = startOne();
    }
  })();
  return {
    async stop() {
      isOver = true;
      await child.kill();
      return lives;
    },
  };
}

/** Its crashes are on purpose: nobody needs their traces, or their memory on the disk. */
const QUIETLY: ChildOptions = {
  within: ["sh", "-c", 'ulimit -c 0; exec "$@" 2>/dev/null', "sh"],
  env: { NODE_OPTIONS: "--max-old-space-size=48" },
};

const job = defineJob({ name: "job", maxAttempts: 3, leaseMs: 1_000, run: (_: { input: string }) => {} });

onRealStores("a job that kills its process", (make) => {
  it.each(["ends its process", "aborts its process", "is killed", "takes all memory"])(
    "C12 W8 as one that %s is started three times and ends as failed (lease_expired); its neighbours all complete",
    async (way) => {
      const { address, folder, client } = await make();
      const file = join(folder, "starts");
      const leasehold = client();
      const inputs = ["works", way, ...Array.from({ length: 10 }, () => "works")];
      const enqueued = await leasehold.enqueueMany(inputs.map((input) => ({ job, input })));
      const supervisors = [1, 2].map(() => supervised(() => start("crasher", [address, file], QUIETLY)));
      await Promise.allSettled(enqueued.map((each) => leasehold.result(each)));
      const deaths = await Promise.all(supervisors.map((each) => each.stop()));

      const starts = readFileSync(file, "utf8").trim().split("\n");
      const views = await leasehold.getMany(enqueued);
      const [poison] = views.splice(1, 1);
      expect(poison).toMatchObject({ state: "failed", endReason: "lease_expired", attempt: 3 });
      for (const view of views) expect(view).toMatchObject({ state: "completed" });
      const startsOf = ({ jobId }: { jobId: string }): number => starts.filter((id) => id === jobId).length;
      for (const each of enqueued) expect(startsOf(each)).toBeLessThanOrEqual(3);
      // Whoever dies has started it.
      expect(enqueued.slice(1, 2).map(startsOf)).toEqual([3]);
      expect(deaths.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(3);
    },
    60_000,
  );
});

/** An idle worker polls every 2 s, give or take a fifth; a sweep is due after 250 ms, and 250 ms are for the work (I16). */
const RECLAIMED_WITHIN_MS = 2_400 + 250 + 250;

interface Begun {
  readonly id: string;
  readonly owner: string;
  readonly previous: Previous | undefined;
}

onRealStores("a process that is killed with ten running jobs, and started anew at once", (make) => {
  it("I16 is another owner: it takes them over once their leases have lapsed, and soon after that", async () => {
    const { address, client } = await make();
    const leasehold = client();
    const jobs = await leasehold.enqueueMany(
      Array.from({ length: 10 }, () => ({ job, input: "", leaseMs: 2_000 })),
    );
    const killed = start("stayer", [address, "stays"]);
    await eventually("all run", () => killed.all("begun").length === 10);
    const [first] = killed.all("begun") as Begun[];
    void killed.kill();
    const anew = start("stayer", [address, "returns"]);
    for (const each of jobs) await leasehold.result(each);
    const begun = anew.all("begun") as Begun[];
    expect(begun.map(({ id }) => id).toSorted()).toEqual(jobs.map(({ jobId }) => jobId).toSorted());
    const lateMs = begun.map(({ owner, previous }) => {
      expect(owner).not.toBe(first?.owner);
      expect(previous?.owner).toBe(first?.owner);
      return previous?.endedAgoMs ?? Number.NaN;
    });
    lateMs.sort((a, b) => a - b);
    if (process.env["LEASEHOLD_SHOW"] === "1")
      process.stdout.write(`Taken over so long after their leases' ends, ms: ${lateMs.join(" ")}\n`);
    expect(lateMs[0]).toBeGreaterThanOrEqual(0);
    expect(lateMs.at(-1)).toBeLessThan(RECLAIMED_WITHIN_MS);
    for (const view of await leasehold.getMany(jobs))
      expect(view).toMatchObject({ attempt: 2, generation: 2 });
  });
});
