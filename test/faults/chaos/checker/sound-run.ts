/** A staged run in which all goes as it should, and enough goes wrong. */

import type { Owner } from "../../../../src/protocol/identity.ts";
import { slotJobId } from "../../../../src/protocol/schedule.ts";
import type { RunRecord, ScheduleOfRun } from "../record.ts";
import { type Actor, type Held, LEASE_MS, StagedRun, WALL_AHEAD_MS } from "./staged-run.ts";

const SLOT_MS = 1_000;

export interface Rounds {
  readonly freezes?: number;
  readonly kills?: number;
}

export async function soundRun({ freezes = 20, kills = 10 }: Rounds = {}): Promise<RunRecord> {
  const run = new StagedRun();
  const crew = new Crew(run);
  for (let round = 0; round < freezes; round++) await frozenInTheGap(run, crew);
  run.atMs += LEASE_MS;
  for (let round = 0; round < kills; round++) await killed(run, crew);
  for (let round = 0; round < 3; round++) await beyondTheClock(run, crew);
  await asked(run, crew);
  const schedule = await scheduled(run, crew);
  const healedAtMs = run.atMs;
  run.atMs += 3_000;
  crew.stop();
  return {
    plan: "staged",
    seed: 1,
    store: "memory",
    leaseMs: LEASE_MS,
    pollMs: 50,
    sweepMs: 200,
    marginMs: 50,
    maxBackoffMs: 200,
    seconds: run.atMs / 1_000,
    history: run.history,
    audit: run.audit,
    decisions: run.decisions,
    healedAtMs,
    endedAtMs: run.atMs,
    nemeses: ["pause", "kill", "clock"],
    skipped: [],
    wallAheadMs: WALL_AHEAD_MS,
    schedules: [schedule],
  };
}

/** A client and two workers, the first of which is the one to whom things happen. */
class Crew {
  readonly client: Actor = { process: "client", incarnation: 1, owner: "client" as Owner };
  readonly other: Actor = { process: "worker 2", incarnation: 1, owner: "two" as Owner };
  victim: Actor = { process: "worker 1", incarnation: 1, owner: "one 1" as Owner };
  readonly #run: StagedRun;

  constructor(run: StagedRun) {
    this.#run = run;
    for (const actor of [this.client, this.other, this.victim]) run.note(actor, "began");
  }

  replaceVictim(): void {
    const incarnation = this.victim.incarnation + 1;
    this.victim = { process: "worker 1", incarnation, owner: `one ${incarnation}` as Owner };
    this.#run.note(this.victim, "began");
  }

  stop(): void {
    const detail = { code: 0, handles: { timers: 0 }, handlesAtStart: { timers: 0 } };
    for (const actor of [this.victim, this.other]) this.#run.note(actor, "exit", undefined, detail);
  }
}

/** Section 7 of the protocol: it stops between its look and its send, and comes back when another has taken over. */
async function frozenInTheGap(run: StagedRun, { client, victim, other }: Crew): Promise<void> {
  await run.enqueue(client);
  const first = await run.claim(victim);
  run.note(victim, "handler began", first);
  run.atMs += 100;
  await run.renew(victim, first);
  await run.write(victim, first, "append", "blind");
  let second: Held | undefined;
  await run.write(victim, first, "append", "http", async () => {
    run.fault("invoke", "pause", victim.process, { aimed: true });
    run.atMs += LEASE_MS + 100;
    second = await run.claim(other);
    run.note(other, "handler began", second);
    for (const destination of ["http", "blind"]) await run.write(other, second, "append", destination);
    run.atMs += 20;
    run.fault("ok", "pause", victim.process);
  });
  await run.renew(victim, first);
  run.note(victim, "aborted", first, { reason: "lease_superseded" });
  run.note(victim, "handler ended", first);
  await run.settle(victim, first, "complete");
  run.note(other, "handler ended", second);
  await run.settle(other, second as Held, "complete");
}

/** It dies after its effect; who takes over makes the effect once more, and does not hear whether its end arrived. */
async function killed(run: StagedRun, crew: Crew): Promise<void> {
  const { client, victim, other } = crew;
  await run.enqueue(client);
  const first = await run.claim(victim);
  run.note(victim, "handler began", first);
  await run.write(victim, first, "count");
  run.fault("invoke", "kill", victim.process);
  run.atMs += LEASE_MS + 50;
  crew.replaceVictim();
  run.fault("ok", "kill", victim.process);
  const second = await run.claim(other);
  run.note(other, "handler began", second);
  await run.write(other, second, "count");
  run.note(other, "handler ended", second);
  await run.settle(other, second, "complete", false);
  await run.settle(other, second, "complete");
}

const HOUR_MS = 3_600_000;

/** A worker's wall clock is an hour ahead, and what it sends has no time in it. */
async function beyondTheClock(run: StagedRun, { client, victim }: Crew): Promise<void> {
  await run.enqueue(client);
  run.fault("invoke", "clock", victim.process, { offsetMs: HOUR_MS });
  const held = await run.claim(victim);
  run.note(victim, "statements watched");
  await run.settle(victim, held, "complete");
  run.fault("ok", "clock", victim.process);
}

/** What callers ask for: a try that fails, a resource, a cancel of a waiting job and of a running one, and a revoke. */
async function asked(run: StagedRun, { client, victim, other }: Crew): Promise<void> {
  await run.enqueue(client, { resource: "account:42" });
  const tried = await run.claim(victim);
  await run.settle(victim, tried, "fail");
  const again = await run.claim(victim);
  await run.write(victim, again, "append");
  await run.settle(victim, again, "complete");
  await run.operate(client, "cancel", await run.enqueue(client));
  const running = await run.enqueue(client);
  const held = await run.claim(victim);
  await run.operate(client, "cancel", running);
  await run.settle(victim, held, "fail");
  const revoked = await run.enqueue(client);
  const old = await run.claim(victim);
  run.note(victim, "handler began", old);
  await run.operate(client, "revoke", revoked);
  const next = await run.claim(other);
  run.note(other, "handler began", next);
  run.atMs += 10;
  await run.renew(victim, old);
  run.note(victim, "aborted", old, { reason: "revoked" });
  run.note(victim, "handler ended", old);
  run.note(other, "handler ended", next);
  await run.settle(other, next, "complete");
}

async function scheduled(run: StagedRun, { victim }: Crew): Promise<ScheduleOfRun> {
  const name = "tick";
  const fromMs = Math.floor((WALL_AHEAD_MS + run.atMs) / SLOT_MS) * SLOT_MS;
  for (const slot of [1, 2]) {
    run.atMs += SLOT_MS;
    await run.enqueue(undefined, { jobId: slotJobId(name, fromMs + slot * SLOT_MS), name });
    await run.settle(victim, await run.claim(victim), "complete");
  }
  return { name, jobName: name, timing: { everyMs: SLOT_MS }, fromMs, toMs: fromMs + 2 * SLOT_MS };
}
