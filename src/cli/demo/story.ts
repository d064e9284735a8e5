/**
 * The worked example of the protocol (section 7), played by real processes in real time: two owners, one job, one lease
 * that expires while its owner is frozen.
 */

import type { World } from "../../clock/world.ts";
import { type JobId, jobLine } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import type { Store } from "../../stores/store.ts";
import type { StoreLocation } from "../store-url.ts";
import type { Cast } from "./cast.ts";
import type { Decision, DestinationFacts } from "./destination-process.ts";
import { EARLIER_GENERATIONS, JOB, LEASE_MS, type Report, type Who } from "./report.ts";

export interface Told {
  /** Since the beginning, ms. */
  readonly atMs: number;
  readonly who: Who | "job" | "demo";
  readonly text: string;
  /** A refusal, which is what the demo is about. */
  readonly refused: boolean;
}

export interface Check {
  readonly what: string;
  readonly ok: boolean;
  /** What was seen instead. */
  readonly seen: string;
}

export interface Story {
  readonly job: JobRecord;
  readonly journal: readonly JournalEntry[];
  /** The fenced destination's own log. */
  readonly decisions: readonly Decision[];
  readonly checks: readonly Check[];
}

export interface Stage {
  readonly store: Store;
  /** Where its players find the same store. */
  readonly location: StoreLocation;
  readonly destinationPath: string;
  readonly cast: Cast;
  readonly world: World;
  tell(told: Told): void;
}

const CALL = { timeoutMs: 5_000 };
const CENTS = 1_999;

export async function play(stage: Stage): Promise<Story> {
  const { store, cast, world } = stage;
  const beganMs = world.clock.monotonicMs();
  const say = (who: Told["who"], text: string, refused = false): void =>
    stage.tell({ atMs: world.clock.monotonicMs() - beganMs, who, text, refused });

  const jobId = world.ids.jobId();
  const queue = `${JOB}-${jobId}`;
  await enqueueJob(store, jobId, queue);
  say("job", `${jobId} is enqueued: credit account 42 with ${CENTS} cents, lease ${LEASE_MS} ms.`);
  const destination = await cast.startDestination(stage.destinationPath);
  const place = { store: stage.location, queue, destination };

  const a = cast.startPlayer({ who: "A", ...place });
  const { generation: last } = await a.hear("given-back");
  const first = last - EARLIER_GENERATIONS + 1;
  say("A", `claims the job and gives it back ${EARLIER_GENERATIONS} times: generations ${first} to ${last}.`);
  const aClaim = await a.hear("claimed");
  say("A", `claims it at generation ${aClaim.generation}.`);
  const aPayment = await a.hear("paid");
  say(
    "A",
    `asks the payment provider, which deduplicates and knows no fence: ${aPayment.outcome}, ${aPayment.receipt}.`,
  );
  await a.hear("freezing");
  say("A", "is about to write to the account, and is frozen (SIGSTOP). It does not know.");

  const b = cast.startPlayer({ who: "B", ...place, wakePid: a.pid });
  const bClaim = await b.hear("claimed");
  const { previous } = bClaim;
  say(
    "B",
    `claims the job at generation ${bClaim.generation}: the lease of generation ${previous?.generation} ended ${previous?.endedAgoMs} ms ago.`,
  );
  const bPayment = await b.hear("payment-repeated");
  say("B", `asks the payment provider with the same key: ${answered(bPayment)}, ${bPayment.receipt}.`);
  const bWrite = await b.hear("write");
  say("B", `writes to the account, which is fenced: ${bWrite.outcome}; its mark is ${bWrite.current} now.`);
  await b.hear("waiting");

  process.kill(a.pid, "SIGCONT");
  const resumed = await a.hear("resumed");
  say(
    "A",
    `wakes (SIGCONT) after ${Math.round(resumed.awayMs ?? 0)} ms and goes on as if nothing had happened.`,
  );
  const renewal = await a.hear("renewal");
  say("A", refusalText("its renewal is", renewal), true);
  const completion = await a.hear("completion");
  say("A", refusalText("its completion is", completion), true);
  const write = await a.hear("write");
  say("A", refusalText("its write to the account is", write), true);
  const repeated = await a.hear("payment-repeated");
  say("A", `repeats its payment: ${answered(repeated)}, ${repeated.receipt}.`);

  b.tell();
  const bRenewal = await b.hear("renewal");
  say("B", `renews its lease: ${bRenewal.outcome}.`);
  const bCompletion = await b.hear("completion");
  say("B", `completes the job: ${bCompletion.outcome}.`);

  const [job] = await store.get([jobId], CALL);
  if (job === undefined) throw new Error(`The job ${jobId} is not in the store.`);
  const journal = await store.journal(jobLine(jobId), CALL);
  const facts = (await (await fetch(`${destination}/facts`)).json()) as DestinationFacts;
  const ofA = last + 1;
  const ofB = last + 2;
  const isRefused = (report: Report, outcome: string): boolean =>
    report.outcome === outcome && report.generation === ofA && report.current === ofB;
  const journalHas = (operation: string): boolean =>
    journal.some(
      (entry) =>
        entry.kind === "refused" &&
        entry.operation === operation &&
        entry.generation === ofA &&
        entry.current === ofB,
    );
  const checks = [
    check(`A holds generation ${ofA}`, aClaim.generation === ofA, aClaim.generation),
    check(`B holds generation ${ofB}`, bClaim.generation === ofB, bClaim.generation),
    check("A's renewal was refused as stale", isRefused(renewal, "stale"), renewal),
    check("A's completion was refused as stale", isRefused(completion, "stale"), completion),
    check(`A's write was refused, because ${ofA} < ${ofB}`, isRefused(write, "refused"), write),
    check(
      "A's repeated payment was answered from the first one's record",
      repeated.outcome === "replayed" && repeated.receipt === aPayment.receipt,
      repeated,
    ),
    check(
      "B completed the job, which ended once",
      bCompletion.outcome === "applied" && job.state === "completed" && job.result === JSON.stringify("B"),
      job.state,
    ),
    check(
      "each effect happened once: one write to the account, one payment",
      facts.balanceCents === CENTS && decided(facts, "applied") === 1 && facts.payments === 1,
      facts,
    ),
    check(
      "the journal has both refusals with both generations, and one end",
      journalHas("renew") &&
        journalHas("complete") &&
        journal.filter(({ kind }) => kind === "completed").length === 1,
      journal.map(({ kind }) => kind).join(" "),
    ),
  ];
  return { job, journal, decisions: facts.decisions, checks };
}

async function enqueueJob(store: Store, jobId: JobId, queue: string): Promise<void> {
  await store.enqueue(
    [
      {
        jobId,
        mayRepeat: false,
        name: JOB,
        queue,
        priority: 0,
        due: { delayMs: 0 },
        leaseMs: LEASE_MS,
        maxAttempts: 10,
        maxRunMs: null,
        backoff: null,
        resource: null,
        unique: null,
        input: JSON.stringify({ account: "42", cents: CENTS }),
      },
    ],
    CALL,
  );
}

function answered(report: Report): string {
  return report.outcome === "replayed" ? "answered from the first request's record" : report.outcome;
}

function refusalText(what: string, report: Report): string {
  if (report.outcome === "applied") return `${what} APPLIED, with generation ${report.generation}!`;
  if (report.outcome === "refused")
    return `${what} refused, because ${report.generation} < ${report.current}.`;
  const reason = report.reason === undefined ? "" : ` (${report.reason})`;
  return `${what} refused as ${report.outcome}${reason}: generation ${report.generation}, the current one is ${report.current}.`;
}

function decided(facts: DestinationFacts, outcome: Decision["outcome"]): number {
  return facts.decisions.filter((decision) => decision.outcome === outcome).length;
}

function check(what: string, ok: boolean, seen: unknown): Check {
  return { what, ok, seen: typeof seen === "string" ? seen : JSON.stringify(seen) };
}
