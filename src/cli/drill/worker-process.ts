/** Process A or B of a drill: a worker as any other, which runs one job for each part that it is told. */

import { systemWorld } from "../../clock/system.ts";
import { defineJob, Leasehold, type WorkerOptions } from "../../index.ts";
import type { Store } from "../../stores/store.ts";
import { errorText } from "../exit.ts";
import { storeAt } from "../store-url.ts";
import { aimedWorld } from "./aimed-world.ts";
import { firstEnd } from "./first-end.ts";
import { type FromWorker, JOB, type Part, type ToWorker, type WorkerSpec } from "./messages.ts";
import { own } from "./owner.ts";
import { viewOf } from "./store-view.ts";
import { openTarget, type Target } from "./target.ts";

const spec = JSON.parse(process.argv[2] ?? "{}") as WorkerSpec;
let wakePid: number | undefined;
/** Words of the drill's that nobody has waited for yet. */
let words = 0;
let onWord = (): void => {};

function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error) => (error === null ? resolve() : reject(error)));
  });
}

async function told(): Promise<void> {
  while (words === 0) {
    await new Promise<void>((resolve) => {
      onWord = resolve;
    });
  }
  words--;
}

async function play(part: Part, store: Store, target: Target): Promise<void> {
  const { fault } = part;
  const view = viewOf(store, {
    losesRenewals: fault === "cut-off",
    losesSettling: fault === "lost-reply",
  });
  const world = aimedWorld(part, spec.leaseMs, view.hasClaimed);
  const leasehold = new Leasehold({ store: view.store, world, log: () => {} });
  const job = defineJob({
    name: JOB,
    queue: spec.queue,
    leaseMs: spec.leaseMs,
    run: (context) => own(context, part, { store, target, world: systemWorld(), tell, told }),
  });
  const options: WorkerOptions = {
    concurrency: 1,
    schedules: false, // those of the store are none of the drill's business
    // A blocked process is to lose its lease; one that is cut off has a renewer that can be cut off.
    ...(fault === "block" ? { maxBlockedMs: Math.ceil(spec.leaseMs / 4) } : {}),
    ...(fault === "cut-off" ? { renewer: "inline" } : {}),
  };
  const end = await firstEnd(leasehold.work([job], options));
  await tell({ kind: "ended", end, completions: view.settled });
}

/** The drill was killed, and nobody else would wake whoever is stopped. */
function onOrphaned(): void {
  try {
    if (wakePid !== undefined) process.kill(wakePid, "SIGCONT");
  } catch {
    // It has ended already.
  }
  process.exit(1);
}

async function unable(error: unknown): Promise<never> {
  await tell({ kind: "unable", message: errorText(error) }).catch(() => {});
  process.exit(1);
}

process.once("disconnect", onOrphaned);
// A terminal's Ctrl-C reaches every process of the group; the drill alone decides when it is over.
process.on("SIGINT", () => {});
const opened = (async () => {
  const store = await storeAt(spec.store, { create: false, migrate: false });
  await store.open();
  return { store, target: await openTarget(spec.target) };
})();
process.on("message", (message: ToWorker) => {
  if (message.kind === "go") {
    words++;
    return onWord();
  }
  wakePid = message.wakePid;
  opened.then(({ store, target }) => play(message, store, target)).catch(unable);
});
