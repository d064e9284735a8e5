import { jobLine } from "../../src/protocol/identity.ts";
import {
  i1TokenUnique,
  i5EndsOnce,
  i7FenceMonotone,
  i8AppliedOnce,
  i9NoForeignToken,
  i14NobodyStranded,
  i15AttemptsBounded,
  i19NoStartAfterCancel,
  i23EndIsTheEnd,
} from "../../src/protocol/invariants.ts";
import { isEnded } from "../../src/protocol/job.ts";
import { slotJobId } from "../../src/protocol/schedule.ts";
import type { Crew } from "./crew.ts";
import { type Enqueueing, SCHEDULE } from "./enqueueing.ts";
import type { SimWorld } from "./world.ts";

/** What is judged when all has ended. @returns how many answers were lost in a promotion, which asynchronous ones may be */
export function judgeEnd(world: SimWorld, crew: Crew, client: Enqueueing): number {
  const { cluster, ledger, judge } = world;
  const verdicts = [
    i1TokenUnique(judge.grants),
    i7FenceMonotone(ledger.log),
    i9NoForeignToken(ledger.log, judge.grants),
    i8AppliedOnce(ledger.log),
    ledger.log.some(({ outcome, effect, answer }) => outcome !== "stale" && !answer.startsWith(effect))
      ? "I8: an effect was answered with another one's answer"
      : undefined,
  ];
  for (let here = cluster.current; ; here = here.fork?.primary as typeof here) {
    const history = here.history.map(({ transition }) => transition);
    verdicts.push(i5EndsOnce(history), i15AttemptsBounded(history), i19NoStartAfterCancel(history));
    if (here.fork === undefined) break;
  }
  const { jobs, order } = cluster.current.memory.peek();
  const all = [...jobs.values()];
  verdicts.push(
    i14NobodyStranded(all, (id) => [...(order.edges.get(id)?.keys() ?? [])].map((other) => jobs.get(other))),
  );
  for (const job of all) {
    if (!isEnded(job)) continue;
    // What a lost grant has written comes from a past that the store knows nothing of.
    if (cluster.seen.failovers === 0)
      verdicts.push(i23EndIsTheEnd({ line: jobLine(job.jobId), generation: job.generation }, ledger.log));
    if (job.state === "completed") verdicts.push(allEffectsMade(world, job.jobId, job.run));
  }
  for (const verdict of verdicts) if (verdict !== undefined) judge.broken.push(verdict);
  if (world.terms.everyMs !== undefined) judge.broken.push(...i18CronExact(world, client));
  return i12Durable(world, crew, client);
}

/** I12: what was answered is there: always with synchronous replication, else unless a promotion has lost the write. */
function i12Durable(world: SimWorld, crew: Crew, client: Enqueueing): number {
  const { current, terms } = world.cluster;
  const { jobs } = current.memory.peek();
  const { broken } = world.judge;
  const retried = new Set(
    current.history
      .filter(({ transition: { operation } }) => operation === "retry")
      .map(({ transition: { after } }) => after?.jobId),
  );
  let lost = 0;
  const isLost = (position: Parameters<typeof current.has>[0], what: string): boolean => {
    if (current.has(position)) return false;
    if (terms.isSynchronous) broken.push(`I12: ${what}, and a promotion has lost it`);
    lost++;
    return true;
  };
  for (const [id, position] of client.acknowledged) {
    if (!isLost(position, `job ${id} was acknowledged`) && !jobs.has(id))
      broken.push(`I12: job ${id} was acknowledged and is not there`);
  }
  for (const { jobId, position } of crew.completed) {
    if (isLost(position, `the end of job ${jobId} was acknowledged`) || retried.has(jobId)) continue;
    const job = jobs.get(jobId);
    if (job?.state !== "completed")
      broken.push(`I13: job ${jobId} was told as completed and is ${job?.state}`);
  }
  return lost;
}

function allEffectsMade({ ledger, terms }: SimWorld, jobId: string, run: number): string | undefined {
  const begin = `job:${jobId}/${run}/`;
  const made = ledger.log.filter(({ effect, admitted }) => admitted && effect.startsWith(begin));
  const isWhole = new Set(made.map(({ effect }) => effect)).size >= terms.effects;
  return isWhole ? undefined : `job ${jobId} completed without all of its effects`;
}

/** I18: the slots that have jobs are those of a calendar that is a multiplication: each once, and none left out. */
function i18CronExact({ cluster, terms }: SimWorld, { scheduledFromMs }: Enqueueing): string[] {
  const everyMs = terms.everyMs as number;
  const { jobs, schedules } = cluster.current.memory.peek();
  const kept = schedules.get(SCHEDULE)?.schedule;
  if (scheduledFromMs === undefined || kept === undefined || kept.lastSlotMs === null) return [];
  const broken: string[] = [];
  const slots = new Set<string>();
  const fromMs = Math.max(scheduledFromMs, kept.createdAtMs);
  const firstMs = Math.ceil((fromMs + 1) / everyMs) * everyMs;
  for (let slotMs = firstMs; slotMs <= kept.lastSlotMs; slotMs += everyMs) {
    const id = slotJobId(SCHEDULE, slotMs);
    slots.add(id);
    if (!jobs.has(id)) broken.push(`I18: the slot ${new Date(slotMs).toISOString()} has no job`);
  }
  // What was fired before the client heard of it, or by a clock that was set back, is as good as any slot.
  for (let slotMs = firstMs - everyMs; slotMs > firstMs - 60_000; slotMs -= everyMs)
    slots.add(slotJobId(SCHEDULE, slotMs));
  for (const [id, job] of jobs) {
    if (id[14] === "5" && !slots.has(id))
      broken.push(`I18: job ${id}, enqueued at ${job.createdAtMs}, is of no slot`);
  }
  return broken;
}
