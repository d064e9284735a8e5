import type { JobDefinition } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import type { FaultPoint } from "../../src/clock/world.ts";
import type { Fence, JobId } from "../../src/protocol/identity.ts";
import {
  i1TokenUnique,
  i5EndsOnce,
  i7FenceMonotone,
  i8AppliedOnce,
  i9NoForeignToken,
  i15AttemptsBounded,
  i19NoStartAfterCancel,
} from "../../src/protocol/invariants.ts";
import { isEnded } from "../../src/protocol/job.ts";
import type { Claimed, Store } from "../../src/stores/store.ts";
import type { Worker } from "../../src/worker/worker.ts";
import { Effects } from "./effects.ts";
import type { EventFault } from "./faults.ts";
import { type Mutant, SOUND } from "./mutants.ts";
import { type Clocks, SimProcess } from "./sim-process.ts";
import { Wire } from "./wire.ts";
import { drawTerms, type Terms, workOf } from "./workload.ts";
import { SimWorld } from "./world.ts";

/** Long enough for every attempt of every job once nothing goes wrong any more, ms of virtual time. */
const LIVENESS_MS = 600_000;
/** More happenings than any sound run has. */
const MOST_HAPPENINGS = 60_000;

/** What one run saw. */
export interface Counts {
  readonly reclaims: number;
  readonly refusedRenewals: number;
  readonly lateEnds: number;
  readonly staleEffects: number;
  readonly duplicates: number;
  readonly unknown: number;
  readonly longFreezes: number;
  readonly kills: number;
  readonly lostGrants: number;
  readonly blindDuplicates: number;
}

export interface SimResult {
  readonly seed: number;
  readonly faults: readonly string[];
  /** The single strikes among them, such as `kill#2`, in their order. */
  readonly struck: readonly string[];
  readonly broken: readonly string[];
  readonly counts: Counts;
  readonly happenings: number;
}

interface Running {
  readonly process: SimProcess;
  readonly effects: Effects;
  readonly worker: Worker;
}

/** One seed, one story: the real client and worker over a store and a destination in a world that is drawn from it. */
export async function simulate(
  seed: number,
  mutant: Mutant = SOUND,
  without: ReadonlySet<string> = new Set(),
): Promise<SimResult> {
  const run = new Simulation(seed, mutant, without);
  await run.all();
  return run.result();
}

class Simulation {
  readonly #seed: number;
  readonly #mutant: Mutant;
  readonly #world: SimWorld;
  readonly #terms: Terms;
  readonly #running: Running[] = [];
  readonly #acknowledged = new Set<JobId>();
  readonly #completed = new Set<JobId>();
  #client!: Leasehold;
  #job!: JobDefinition;
  #incarnations = 0;
  #isHealed = false;
  #kills = 0;
  #longFreezes = 0;
  #sent = 0;

  constructor(seed: number, mutant: Mutant, without: ReadonlySet<string>) {
    this.#seed = seed;
    this.#mutant = mutant;
    this.#world = new SimWorld(seed, mutant, without);
    this.#terms = drawTerms(this.#world.chance);
  }

  async all(): Promise<void> {
    const { time } = this.#world;
    for (let n = 0; n < this.#terms.processes; n++) this.#startProcess();
    this.#startClient();
    for (const fault of this.#world.faults.events.keys()) this.#armFault(fault);
    await time.run(this.#terms.safetyMs, () => this.#goesOn());
    if (this.#world.broken.length === 0) await this.#liveness();
    this.#judgeEnd();
  }

  result(): SimResult {
    const { ledger, seen, wires, broken, faults, time } = this.#world;
    const outcomes = (outcome: string): number =>
      ledger.log.filter((entry) => entry.outcome === outcome).length;
    return {
      seed: this.#seed,
      faults: faults.names,
      struck: faults.struck,
      broken: [...new Set(broken)],
      happenings: time.count,
      counts: {
        reclaims: seen.reclaims,
        refusedRenewals: seen.refusedRenewals,
        lateEnds: seen.lateEnds,
        lostGrants: seen.lostGrants,
        staleEffects: outcomes("stale"),
        duplicates: outcomes("duplicate"),
        unknown: wires.unknown,
        longFreezes: this.#longFreezes,
        kills: this.#kills,
        blindDuplicates: ledger.blindDuplicates,
      },
    };
  }

  #goesOn(): boolean {
    const { time, broken } = this.#world;
    if (time.count > MOST_HAPPENINGS) broken.push(`after ${time.count} happenings the run had not ended`);
    return broken.length === 0;
  }

  /** All faults heal, and from then on everything comes to its end. */
  async #liveness(): Promise<void> {
    const { time, faults } = this.#world;
    this.#isHealed = true;
    faults.heal();
    for (const { process, effects } of this.#running) {
      process.thaw();
      if (effects.hangs > 0) process.kill();
    }
    this.#startProcess();
    let ended = false;
    await time.run(time.nowMs + LIVENESS_MS, () => {
      if (time.count % 20 === 0) ended = this.#sent === this.#terms.jobs && this.#allEnded();
      return !ended && this.#goesOn();
    });
    if (!this.#allEnded()) {
      const left = [...this.#world.state.jobs.values()].filter((job) => !isEnded(job));
      this.#world.broken.push(
        `I14: ${left.length} jobs did not end: ${left.map((job) => job.state).join(", ")}`,
      );
    }
  }

  #allEnded(): boolean {
    return [...this.#world.state.jobs.values()].every(isEnded);
  }

  // --- who is there ---

  #startProcess(): void {
    const { chance, time, faults } = this.#world;
    const own = chance.branch();
    const process = this.#newProcess(`w${++this.#incarnations}`);
    const effects = new Effects(this.#world, process, this.#mutant, this.#terms.callTimeoutMs);
    process.onPoint = (point) => this.#atPoint(process, point);
    const wire = new Wire(
      process,
      time,
      chance.branch(),
      faults,
      this.#world.wires,
      (_, method, args, value, sentMs) => {
        this.#heard(effects, method, args, value, sentMs);
      },
    );
    const client = this.#clientOn(process, wire.store(this.#world.store));
    const job = workOf(this.#terms, own, effects, () => this.#isHealed);
    const worker = client.work([job], {
      concurrency: this.#terms.concurrency,
      pollMs: this.#terms.pollMs,
      graceMs: Math.round(this.#terms.leaseMs * own.between(0, 1)),
      renewer: "inline",
    });
    worker.on("completed", ({ job: { id } }) => void this.#completed.add(id));
    this.#running.push({ process, effects, worker });
  }

  #newProcess(name: string): SimProcess {
    const { chance, time } = this.#world;
    const clocks: Clocks = { rate: chance.between(0.995, 1.005), aheadMs: chance.between(-90_000, 90_000) };
    return new SimProcess(name, time, chance.branch(), clocks);
  }

  #clientOn(process: SimProcess, store: Store): Leasehold {
    return new Leasehold({
      store,
      world: process.world,
      log: () => {},
      callTimeoutMs: this.#terms.callTimeoutMs,
    });
  }

  /** Enqueues over the first half of the run, repeating what had no answer under the same id. */
  #startClient(): void {
    const { chance, time, faults } = this.#world;
    const process = this.#newProcess("client");
    const wire = new Wire(process, time, chance.branch(), faults, this.#world.wires);
    this.#client = this.#clientOn(process, wire.store(this.#world.store));
    const effects = new Effects(this.#world, process, this.#mutant, 1_000);
    this.#job = workOf(this.#terms, chance.branch(), effects, () => true);
    for (let n = 0; n < this.#terms.jobs; n++) {
      const resource =
        this.#terms.resources === 0 || chance.happens(0.4)
          ? null
          : `r${chance.whole(1, this.#terms.resources)}`;
      const jobId = process.world.ids.jobId();
      const priority = chance.whole(0, 1);
      process.later(chance.between(0, this.#terms.safetyMs / 2), () => {
        void this.#enqueue(jobId, { resource }, priority);
      });
    }
  }

  async #enqueue(jobId: JobId, input: unknown, priority: number): Promise<void> {
    for (;;) {
      try {
        await this.#client.enqueue(this.#job, input as never, { jobId, priority });
        this.#acknowledged.add(jobId);
        this.#sent++;
        return;
      } catch {
        // Unknown, or busy: the same id again is the same job (C1).
      }
    }
  }

  #heard(effects: Effects, method: string, args: readonly unknown[], value: unknown, sentMs: number): void {
    const { leaseMs } = this.#terms;
    if (method === "claim") {
      for (const { job } of (value as Claimed).jobs)
        effects.granted(`job:${job.jobId} ${job.owner}`, sentMs, leaseMs);
    } else if (method === "renew") {
      const answers = value as readonly { readonly outcome: string }[];
      (args[0] as readonly Fence[]).forEach((fence, n) => {
        if (answers[n]?.outcome === "applied")
          effects.granted(`job:${fence.jobId} ${fence.owner}`, sentMs, leaseMs);
      });
    }
  }

  // --- what befalls them ---

  #armFault(fault: EventFault): void {
    const { faults, chance, time } = this.#world;
    const perSecond = faults.rateOf(fault);
    if (perSecond === 0) return;
    const waitMs = (-Math.log(1 - chance.next()) / perSecond) * 1_000;
    time.after(waitMs, () => {
      if (this.#isHealed) return;
      if (faults.happens(fault)) this.#strike(fault);
      this.#armFault(fault);
    });
  }

  #strike(fault: EventFault): void {
    const { chance, store } = this.#world;
    const victim = chance.of(this.#running.filter(({ process }) => !process.isDead));
    if (victim === undefined) return;
    const call = { timeoutMs: 1_000 };
    const ids = [...this.#world.state.jobs.keys()];
    if (fault === "freeze") this.#freeze(victim.process, 0.1, 10);
    else if (fault === "block the loop") this.#freeze(victim.process, 0.1, 2);
    else if (fault === "kill") this.#kill(victim.process);
    else if (fault === "stop") this.#stop(victim);
    else if (fault === "step a process's clock") victim.process.step(chance.between(-90_000, 90_000));
    else if (fault === "step the store's clock")
      this.#world.stepStoreClock(chance.between(-3, 3) * this.#terms.leaseMs);
    else if (fault === "raise the floor") void store.raiseFloor(call);
    else if (fault === "lose the last writes") void this.#world.failOver();
    else if (ids.length === 0) return;
    else if (fault === "cancel") void store.cancel([chance.of(ids)], call);
    else if (fault === "revoke") void store.revoke([chance.of(ids)], call);
    else if (fault === "retry") void store.retry([chance.of(ids)], chance.happens(0.5), call);
  }

  #freeze(process: SimProcess, from: number, to: number): void {
    const ms = this.#world.chance.between(from, to) * this.#terms.leaseMs;
    if (ms > this.#terms.leaseMs) this.#longFreezes++;
    process.freeze(ms);
  }

  #kill(process: SimProcess): void {
    if (process.isDead) return;
    process.kill();
    this.#kills++;
    this.#startAnother(2 * this.#terms.leaseMs);
  }

  #stop({ worker, process }: Running): void {
    process.later(0, () => void worker.stop().then(() => process.kill()));
    this.#startAnother(this.#terms.leaseMs);
  }

  #startAnother(withinMs: number): void {
    const { time, chance } = this.#world;
    time.after(chance.between(0, withinMs), () => this.#startProcess());
  }

  #atPoint(process: SimProcess, _point: FaultPoint): void {
    const { faults, chance } = this.#world;
    const strikes = (fault: EventFault, probability: number): boolean =>
      faults.rateOf(fault) > 0 && chance.happens(probability) && faults.happens(fault);
    if (strikes("freeze at a point", 0.08)) this.#freeze(process, 0.2, 5);
    if (strikes("kill at a point", 0.02)) this.#kill(process);
  }

  // --- what is judged at the end ---

  #judgeEnd(): void {
    const { broken, history, grants, ledger, lostPast, state, seen } = this.#world;
    const whole = history.filter(({ after, before }) => !lostPast.has((after ?? before)?.jobId as JobId));
    const verdicts = [
      i1TokenUnique(grants),
      i5EndsOnce(whole),
      i15AttemptsBounded(whole),
      i19NoStartAfterCancel(whole),
      i7FenceMonotone(ledger.log),
      i9NoForeignToken(ledger.log, grants),
      i8AppliedOnce(ledger.log),
    ];
    for (const verdict of verdicts) if (verdict !== undefined) broken.push(verdict);
    for (const id of this.#acknowledged) {
      if (!state.jobs.has(id) && seen.failovers === 0)
        broken.push(`I12: job ${id} was acknowledged and is not there`);
    }
    for (const id of this.#completed) {
      const job = state.jobs.get(id);
      if (job === undefined || lostPast.has(id) || !this.#wasNeverRetried(id)) continue;
      if (job.state !== "completed") broken.push(`I13: job ${id} was told as completed and is ${job.state}`);
    }
    for (const job of state.jobs.values()) {
      if (job.state !== "completed" || lostPast.has(job.jobId)) continue;
      const run = `job:${job.jobId}/${job.run}/`;
      const made = ledger.log.filter(({ effect, admitted }) => admitted && effect.startsWith(run));
      if (new Set(made.map(({ effect }) => effect)).size < this.#terms.steps) {
        broken.push(`job ${job.jobId} completed without all of its effects`);
      }
    }
  }

  #wasNeverRetried(id: JobId): boolean {
    return !this.#world.history.some(({ operation, after }) => operation === "retry" && after?.jobId === id);
  }
}
