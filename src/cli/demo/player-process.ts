/**
 * Process A or B of the demo. Each follows its part by itself, as a worker would: A is frozen in the middle, and when it
 * wakes it goes on with what it was about to do, because a paused owner does not know that it has been replaced.
 *
 * It speaks to the store directly, so that each step of protocol section 7 is one visible call; a `Worker` makes the
 * same calls.
 */

import { systemWorld } from "../../clock/system.ts";
import { StaleTokenError } from "../../destinations/refusals.ts";
import { effectScope, type Fence } from "../../protocol/identity.ts";
import type { ClaimedJob } from "../../stores/store.ts";
import { openAccount } from "../accounts/kinds.ts";
import type { PaymentAnswer } from "../accounts/service-process.ts";
import { storeAt } from "../store-url.ts";
import { EARLIER_GENERATIONS, type PlayerArguments, type Report } from "./report.ts";

/** What is told of any of the store's answers. */
interface Answer {
  readonly outcome: string;
  readonly generation?: number;
  readonly reason?: string;
}

const CALL = { timeoutMs: 5_000 };
const LOOK_EVERY_MS = 20;

const world = systemWorld();
const part = JSON.parse(process.argv[2] ?? "{}") as PlayerArguments;
const { who, queue, wakePid } = part;
const store = await storeAt(part.store, { create: true });
const account = await openAccount(part.account);

async function playA(): Promise<void> {
  let generation = 0;
  for (let n = 1; n <= EARLIER_GENERATIONS; n++) {
    const run = await claimed();
    generation = run.token.generation;
    await settle(run, "release");
  }
  await report({ step: "given-back", outcome: "applied", generation });

  const run = await claimed();
  await reportClaim(run);
  await reportPayment(run, "paid");

  await report({ step: "freezing", outcome: "applied", generation: run.token.generation });
  const frozenMs = world.clock.monotonicMs();
  process.kill(process.pid, "SIGSTOP");
  // The signal is delivered while this loop turns, at the latest; nothing else happens before somebody continues us.
  while (world.clock.monotonicMs() - frozenMs < LOOK_EVERY_MS) await world.timers.sleep(1);
  const awayMs = world.clock.monotonicMs() - frozenMs;
  await report({ step: "resumed", outcome: "applied", generation: run.token.generation, awayMs });

  await reportRenewal(run);
  await reportCompletion(run);
  await reportWrite(run);
  await reportPayment(run, "payment-repeated");
}

async function playB(): Promise<void> {
  const run = await claimed();
  await reportClaim(run);
  await reportPayment(run, "payment-repeated");
  await reportWrite(run);
  const told = new Promise<void>((resolve) => process.once("message", () => resolve()));
  await report({ step: "waiting", outcome: "applied", generation: run.token.generation });
  await told;
  await reportRenewal(run);
  await reportCompletion(run);
}

/** Claims the job as soon as the store lets it go: when it is ready, or its lease has expired. */
async function claimed(): Promise<ClaimedJob> {
  const owner = world.ids.owner();
  for (;;) {
    const { jobs } = await store.claim({ owner, queues: [queue], limit: 1, takeover: true }, CALL);
    if (jobs[0] !== undefined) return jobs[0];
    await world.timers.sleep(LOOK_EVERY_MS);
  }
}

function fenceOf(run: ClaimedJob): Fence {
  return { jobId: run.job.jobId, owner: run.job.owner, generation: run.job.generation };
}

async function settle(run: ClaimedJob, operation: "release" | "complete"): Promise<Answer | undefined> {
  const fence = fenceOf(run);
  const [answer] = await store.settle(
    [
      operation === "release"
        ? { operation, fence, delayMs: 0 }
        : { operation, fence, result: JSON.stringify(who) },
    ],
    CALL,
  );
  return answer;
}

async function reportClaim(run: ClaimedJob): Promise<void> {
  const { previous, token } = run;
  await report({
    step: "claimed",
    outcome: "applied",
    generation: token.generation,
    ...(previous === undefined
      ? {}
      : { previous: { generation: previous.generation, endedAgoMs: previous.endedAgoMs } }),
  });
}

async function reportRenewal(run: ClaimedJob): Promise<void> {
  const [answer] = await store.renew([fenceOf(run)], CALL);
  await reportAnswer("renewal", run, answer);
}

async function reportCompletion(run: ClaimedJob): Promise<void> {
  await reportAnswer("completion", run, await settle(run, "complete"));
}

async function reportAnswer(
  step: "renewal" | "completion",
  run: ClaimedJob,
  answer: Answer | undefined,
): Promise<void> {
  await report({
    step,
    outcome: answer?.outcome ?? "none",
    generation: run.token.generation,
    ...(answer?.generation === undefined ? {} : { current: answer.generation }),
    ...(answer?.reason === undefined ? {} : { reason: answer.reason }),
  });
}

/**
 * The fenced destination: the token goes with the write. Of a lease it gets no more than a service would that took it from
 * a request: nobody there could look at the owner's clocks. Such a look would save A this write, and could as well have
 * come before the pause.
 */
async function reportWrite(run: ClaimedJob): Promise<void> {
  const { token, job } = run;
  const { cents } = JSON.parse(job.input) as { cents: number };
  const about = { step: "write", generation: token.generation } as const;
  try {
    await account.credit({ token, effectScope: effectScope(job.jobId, job.run) }, cents);
    await report({ ...about, outcome: "applied" });
  } catch (error) {
    if (!(error instanceof StaleTokenError)) throw error;
    await report({ ...about, outcome: "refused", current: error.mark.generation, message: error.message });
  }
}

/** The deduplicating destination: no token, but a key that the next generation shares (D4). */
async function reportPayment(run: ClaimedJob, step: "paid" | "payment-repeated"): Promise<void> {
  const { jobId, run: number, input } = run.job;
  const key = `${jobId}/${number}/pay`;
  const response = await fetch(`${part.account.service}/payment`, {
    method: "POST",
    body: input,
    headers: { "idempotency-key": key },
  });
  if (!response.ok) throw new Error(await response.text());
  const { outcome, answer } = (await response.json()) as PaymentAnswer;
  await report({ step, outcome, generation: run.token.generation, receipt: answer });
}

function report(message: Report): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** The narrator was killed, and nobody else would wake A. */
function onOrphaned(): void {
  try {
    if (wakePid !== undefined) process.kill(wakePid, "SIGCONT");
  } catch {
    // It has ended already.
  }
  process.exit(1);
}
process.once("disconnect", onOrphaned);
// A terminal's Ctrl-C reaches every process of the group; the narrator alone decides when the demo is over.
process.on("SIGINT", () => {});

await (who === "A" ? playA() : playB());
await account.close();
await store.close();
process.off("disconnect", onOrphaned);
process.disconnect?.();
