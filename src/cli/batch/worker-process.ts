/** One worker process of a batch. It works until its parent tells it to stop, or is gone. */

import { systemWorld } from "../../clock/system.ts";
import { Leasehold } from "../../index.ts";
import { EXIT, errorText, exitCodeOf } from "../exit.ts";
import { loadJobs } from "../jobs-module.ts";
import { storeAt } from "../store-url.ts";
import type { FromWorker, ToWorker, WorkerSpec } from "./crew-messages.ts";

const TELL_EVERY_MS = 100;

/** Resolves when the parent can read it; a parent that is gone is no error here. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve());
    else resolve();
  });
}

async function work(spec: WorkerSpec): Promise<void> {
  const jobs = await loadJobs(spec.module);
  const store = await storeAt(spec.store, { create: true });
  const leasehold = new Leasehold({ store });
  await leasehold.open();
  const worker = leasehold.work([...jobs.values()], {
    concurrency: spec.concurrency,
    queues: spec.queues,
    graceMs: spec.graceMs,
  });

  let reclaimed = 0;
  worker.on("started", ({ previous }) => {
    if (previous !== undefined) reclaimed += 1;
  });
  let told = "";
  const tellCounts = async (): Promise<void> => {
    const { completed, failed } = worker.counts;
    const counts = { completed, failed, reclaimed };
    if (told !== JSON.stringify(counts)) await tell({ kind: "counts", counts });
    told = JSON.stringify(counts);
  };
  const { timers } = systemWorld();
  const tick = (): void => {
    void tellCounts();
    timers.after(TELL_EVERY_MS, tick, { background: true });
  };
  tick();

  const stop = async (graceMs: number): Promise<void> => {
    await worker.stop({ graceMs });
    await leasehold.close();
    await tellCounts();
    process.exit(EXIT.done); // the jobs module may have left things open
  };
  process.on("message", ({ kind }: ToWorker) => void stop(kind === "abort" ? 0 : spec.graceMs));
  // Nobody waits for a summary any more; what runs may end, and whoever starts the batch again goes on.
  process.on("disconnect", () => void stop(spec.graceMs));
  process.on("SIGTERM", () => void stop(spec.graceMs));
  if (!process.connected) void stop(spec.graceMs);
}

// A terminal's Ctrl-C reaches every process of the group; the parent decides what it means.
process.on("SIGINT", () => {});
try {
  await work(JSON.parse(process.argv[2] ?? "{}") as WorkerSpec);
} catch (error) {
  await tell({ kind: "unable", message: errorText(error), exitCode: exitCodeOf(error) });
  process.exit(EXIT.failed);
}
