import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { Child } from "../support/child.ts";
import { onRealStores } from "../support/real-stores.ts";

/** 100,000 when `LEASEHOLD_NOOPS` asks for it. */
const JOBS = Number(process.env["LEASEHOLD_NOOPS"] ?? 10_000);
/** What a listener or a timer takes is a multiple of it. The rest is what a heap of some 10 MB moves by itself. */
const BYTES_PER_JOB = 30;
const HEAP_NOISE_BYTES = 1_500_000;

interface Left {
  readonly heapBytes: number;
  readonly listeners: number;
  readonly resources: number;
}

onRealStores("jobs that do nothing", (make) => {
  it("leave nothing behind in their process: no listener, no timer, no handle, no memory, no warning", async () => {
    const { address } = await make();
    const file = fileURLToPath(new URL("processes/noops.js", import.meta.url));
    const child = new Child(file, [address, JOBS]);
    onTestFinished(() => child.kill());
    const { before, after, warnings } = (await child.tells("left")) as {
      before: Left;
      after: Left;
      warnings: string[];
    };
    const grownBytes = after.heapBytes - before.heapBytes;
    if (process.env["LEASEHOLD_SHOW"] === "1")
      process.stdout.write(`After ${JOBS} jobs ${JSON.stringify({ before, after, grownBytes })}\n`);
    expect(warnings).toEqual([]);
    expect(after.listeners).toBe(before.listeners);
    expect(after.resources).toBeLessThanOrEqual(before.resources + 2); // connections of a pool come and go
    expect(grownBytes).toBeLessThan(JOBS * BYTES_PER_JOB + HEAP_NOISE_BYTES);
    expect(await child.exited).toBe(0);
  }, 170_000);
});
