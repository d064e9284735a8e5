/**
 * The worked example of the protocol (section 7), played by real processes in real time: two owners, one job, one lease
 * that expires while its owner is frozen.
 */

import { join } from "node:path";
import type { World } from "../../clock/world.ts";
import type { ProbeResult } from "../../destinations/destination.ts";
import { type JobId, jobLine } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import type { Store } from "../../stores/store.ts";
import type { Account, AccountPlace, Entry, OpenAccount } from "../accounts/account.ts";
import type { StoreLocation } from "../store-url.ts";
import type { Cast } from "./cast.ts";
import { type Check, checksOf } from "./checks.ts";
import { CENTS, EARLIER_GENERATIONS, JOB, LEASE_MS, type Report, type Who } from "./report.ts";

export interface Told {
  /** Since the beginning, ms. */
  readonly atMs: number;
  readonly who: Who | "job" | "demo";
  readonly text: string;
  /** A refusal, which is what the demo is about. */
  readonly refused: boolean;
}

export interface Story {
  readonly job: JobRecord;
  readonly journal: readonly JournalEntry[];
  readonly destination: Destination;
  readonly checks: readonly Check[];
}

/** The account: what it is, how it was proven, and what it holds in the end. */
export interface Destination {
  readonly kind: string;
  readonly level: string;
  readonly probe: ProbeResult;
  /** What it said to A's late write. */
  readonly refusal: string | null;
  readonly entries: readonly Entry[];
}

export interface Stage {
  readonly store: Store;
  /** Where its players find the same store. */
  readonly location: StoreLocation;
  /** Of the account, but for the address of the demo's service. */
  readonly place: Omit<AccountPlace, "service">;
  readonly openAccount: OpenAccount;
  readonly cast: Cast;
  readonly world: World;
  tell(told: Told): void;
}

const CALL = { timeoutMs: 5_000 };

export async function play(stage: Stage): Promise<Story> {
  const service = await stage.cast.startService(join(stage.place.folder, "service.db"));
  const place: AccountPlace = { ...stage.place, service };
  const account = await stage.openAccount(place);
  try {
    return await playWith(account, place, stage);
  } finally {
    await account.remove?.();
    await account.close();
  }
}

async function playWith(account: Account, place: AccountPlace, stage: Stage): Promise<Story> {
  const { store, cast, world } = stage;
  const beganMs = world.clock.monotonicMs();
  const say = (who: Told["who"], text: string, refused = false): void =>
    stage.tell({ atMs: world.clock.monotonicMs() - beganMs, who, text, refused });

  const jobId = world.ids.jobId();
  const queue = `${JOB}-${jobId}`;
  await enqueueJob(store, jobId, queue);
  say("job", `${jobId} is enqueued: credit account 42 with ${CENTS} cents, lease ${LEASE_MS} ms.`);
  const { level } = account.destination;
  const probe = await account.destination.probe();
  const proof = probe.isProven
    ? "a stale write on a line of its own was refused"
    : `not proven, ${probe.why}`;
  say("demo", `The account is behind leasehold/destinations/${place.kind}: ${level}; ${proof}.`);
  const scene = { store: stage.location, queue, account: place };

  const a = cast.startPlayer({ who: "A", ...scene });
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

  const b = cast.startPlayer({ who: "B", ...scene, wakePid: a.pid });
  const bClaim = await b.hear("claimed");
  const { previous } = bClaim;
  say(
    "B",
    `claims the job at generation ${bClaim.generation}: the lease of generation ${previous?.generation} ended ${previous?.endedAgoMs} ms ago.`,
  );
  const bPayment = await b.hear("payment-repeated");
  say("B", `asks the payment provider with the same key: ${answered(bPayment)}, ${bPayment.receipt}.`);
  const bWrite = await b.hear("write");
  say("B", `writes to the account, which is fenced: ${bWrite.outcome}.`);
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
  const { payments } = (await (await fetch(`${place.service}/facts`)).json()) as { payments: number };
  const entries = await account.entries();
  const checks = checksOf({
    ofA: last + 1,
    ofB: last + 2,
    claims: { a: aClaim.generation, b: bClaim.generation },
    probe,
    a: { renewal, completion, write, repeated, receipt: aPayment.receipt },
    bCompletion,
    job,
    journal,
    entries,
    payments,
  });
  const destination = { kind: place.kind, level, probe, refusal: write.message ?? null, entries };
  return { job, journal, destination, checks };
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
    return `${what} refused, because ${report.generation} < ${report.current}: ${report.message}`;
  const reason = report.reason === undefined ? "" : ` (${report.reason})`;
  return `${what} refused as ${report.outcome}${reason}: generation ${report.generation}, the current one is ${report.current}.`;
}
