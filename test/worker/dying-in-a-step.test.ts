/** Steps in real processes over one file: what a SIGKILL in the middle of a step leaves, and what its successor makes of it. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import type { Step } from "../../src/client/step.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { Child } from "../support/child.ts";

const DIER = fileURLToPath(new URL("processes/dier.js", import.meta.url));

/** A job whose first worker was killed in its second step; `effects` are the lines that steps have written. */
async function killedInStep(): Promise<{
  readonly leasehold: Leasehold;
  readonly jobId: string;
  effects(): string[];
}> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [path, file] = [join(folder, "test.db"), join(folder, "effects")];
  const leasehold = new Leasehold({ store: sqlite(path), log: () => {} });
  onTestFinished(() => leasehold.close());
  const { jobId } = await leasehold.enqueue(defineJob({ name: "dier", run() {} }), null, { leaseMs: 1_000 });
  const child = new Child(DIER, [path, file]);
  onTestFinished(() => child.kill());
  await child.tells("sent");
  await child.kill();
  return { leasehold, jobId, effects: () => readFileSync(file, "utf8").trimEnd().split("\n") };
}

function successor(leasehold: Leasehold, called: string[], send: (step: Step) => Promise<unknown>): void {
  const job = defineJob({
    name: "dier",
    async run({ step }) {
      const address = await step("address", () => {
        called.push("address");
        return "somebody else";
      });
      return [address, await send(step)];
    },
  });
  leasehold.work([job], { renewer: "inline" });
}

describe("a worker that is killed in its second step", () => {
  it("leaves the first one's result to its successor, which does not run it, and the second one as unknown", async () => {
    const { leasehold, jobId, effects } = await killedInStep();
    const called: string[] = [];
    successor(leasehold, called, (step) => step("send", () => called.push("send")));
    await expect(leasehold.result(jobId)).rejects.toThrow(
      /the step "send" was begun in attempt 1 .* has no end/,
    );
    expect(called).toEqual([]);
    expect(effects()).toEqual(["address", `send Ada job:${jobId}/1/send`]);
    expect(await leasehold.get(jobId)).toMatchObject({ state: "failed", endReason: "final", attempt: 2 });
    expect((await leasehold.steps(jobId)).map(({ step, state, result }) => [step, state, result])).toEqual([
      ["address", "done", "Ada"],
      ["send", "unknown", undefined],
    ]);
  });

  it("has its successor ask the destination, which knows the effect by its key", async () => {
    const { leasehold, jobId, effects } = await killedInStep();
    const called: string[] = [];
    successor(leasehold, called, (step) =>
      step(
        "send",
        { onUnknown: ({ key }, run) => effects().find((line) => line.endsWith(key)) ?? run() },
        () => {
          called.push("send");
          return "again";
        },
      ),
    );
    expect(await leasehold.result(jobId)).toEqual(["Ada", `send Ada job:${jobId}/1/send`]);
    expect(called).toEqual([]);
  });
});
