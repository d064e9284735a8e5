import type { FaultPoint } from "../../src/clock/world.ts";
import { isEnded } from "../../src/protocol/job.ts";
import { type Counts, noCounts, usesOf } from "./counts.ts";
import { Crew, type Running } from "./crew.ts";
import { Effects } from "./effects.ts";
import { Enqueueing } from "./enqueueing.ts";
import type { EventFault } from "./faults.ts";
import { type Mutant, SOUND } from "./mutants.ts";
import type { SimProcess } from "./sim-process.ts";
import { judgeEnd } from "./verdicts.ts";
import { realTurn } from "./virtual-time.ts";
import { workOf } from "./workload.ts";
import { SimWorld } from "./world.ts";

/** Long enough for every attempt of every job once nothing goes wrong any more, ms of virtual time. */
const LIVENESS_MS = 600_000;
/** More happenings than any sound run has. */
const MOST_HAPPENINGS = 60_000;

export interface SimResult {
  readonly seed: number;
  readonly faults: readonly string[];
  /** The single strikes among them, such as `kill#2`, in their order. */
  readonly struck: readonly string[];
  readonly broken: readonly string[];
  readonly counts: Counts;
  readonly happenings: number;
  /** Of all that happened, in its order. */
  readonly digest: number;
}

export interface SimOptions {
  readonly mutant?: Mutant;
  /** Faults, and single strikes such as `kill#2`, to leave out. */
  readonly without?: ReadonlySet<string>;
  /** Takes a turn of the event loop after each happening. */
  readonly isSlow?: boolean;
  /** Told what happens, line by line. */
  readonly told?: (line: string) => void;
}

/** One seed, one story: the real client and worker over a store and a destination in a world that is drawn from it. */
export async function simulate(seed: number, options: SimOptions = {}): Promise<SimResult> {
  const { mutant = SOUND, without = new Set(), isSlow = false } = options;
  const run = new Simulation(seed, new SimWorld(seed, mutant, without, isSlow, options.told));
  // Handlers and stores throw by the thousand, and nobody reads where.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    await run.all();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  // So that whoever waits for this process's event loop is not kept waiting by thousands of worlds.
  await realTurn();
  return run.result();
}

class Simulation {
  readonly #seed: number;
  readonly #world: SimWorld;
  readonly #crew: Crew;
  readonly #client: Enqueueing;
  #isHealed = false;
  #killsInRuns = 0;
  #freezesInRuns = 0;
  #acknowledgedLost = 0;

  constructor(seed: number, world: SimWorld) {
    this.#seed = seed;
    this.#world = world;
    this.#crew = new Crew(world, () => this.#isHealed);
    this.#client = this.#newClient();
  }

  async all(): Promise<void> {
    const { time, terms, faults, cluster, judge } = this.#world;
    if (terms.limit !== undefined) await cluster.current.memory.limitQueue("q1", terms.limit, CALL);
    for (let n = 0; n < terms.processes; n++) this.#start();
    this.#client.start();
    for (const fault of faults.events.keys()) this.#armFault(fault);
    await time.run(terms.safetyMs, () => this.#goesOn());
    if (judge.broken.length === 0) await this.#liveness();
    if (judge.broken.length === 0) this.#acknowledgedLost = judgeEnd(this.#world, this.#crew, this.#client);
  }

  result(): SimResult {
    const { ledger, judge, wires, faults, time, cluster } = this.#world;
    const { seen } = judge;
    const outcomes = (outcome: string): number =>
      ledger.log.filter((entry) => entry.outcome === outcome).length;
    const slots = [...cluster.current.memory.peek().jobs.keys()].filter((id) => id[14] === "5").length;
    return {
      seed: this.#seed,
      faults: faults.names,
      struck: faults.struck,
      broken: [...new Set(judge.broken)],
      happenings: time.count,
      digest: time.digest,
      counts: {
        ...noCounts(),
        reclaims: seen.reclaims,
        refusedRenewals: seen.refusedRenewals,
        lateEnds: seen.lateEnds,
        lateCompletions: seen.lateCompletions,
        ...cluster.seen,
        staleEffects: outcomes("stale"),
        duplicates: outcomes("duplicate"),
        unknown: wires.unknown,
        freezesInRuns: this.#freezesInRuns,
        killsInRuns: this.#killsInRuns,
        acknowledgedLost: this.#acknowledgedLost,
        blindDuplicates: ledger.blindDuplicates,
        blindOutOfOrder: ledger.blindOutOfOrder,
        slots,
        freed: seen.freed,
        faults: usesOf(faults),
      },
    };
  }

  #newClient(): Enqueueing {
    const { chance, terms, judge } = this.#world;
    const process = this.#crew.process("client");
    const remote = this.#crew.remote(process);
    const client = this.#crew.client(process, remote);
    const job = workOf(terms, chance.branch(), new Effects(this.#world, process), () => true);
    return new Enqueueing(terms, chance.branch(), process, remote, client, job, judge.behind);
  }

  #goesOn(): boolean {
    const { time, judge } = this.#world;
    if (time.count > MOST_HAPPENINGS)
      judge.broken.push(`after ${time.count} happenings the run had not ended`);
    return judge.broken.length === 0;
  }

  /** All faults heal, and from then on everything comes to its end. */
  async #liveness(): Promise<void> {
    const { time, faults, cluster, judge, destination, terms } = this.#world;
    this.#isHealed = true;
    faults.heal();
    judge.storeInTrouble(0);
    cluster.heal();
    destination.isCutOff = false;
    for (const { process, effects } of this.#crew.running) {
      process.thaw();
      // Nothing ends a handler that hangs and is not isolated: it would keep its place for ever.
      if (effects.hangs > 0) process.kill();
    }
    this.#start();
    void this.#client.endSchedule();
    let ended = false;
    await time.run(time.nowMs + LIVENESS_MS, () => {
      if (time.count % 5 === 0) ended = this.#client.open === 0 && this.#allEnded();
      return !ended && this.#goesOn();
    });
    if (judge.broken.length > 0 || this.#allEnded()) return;
    const left = [...cluster.current.memory.peek().jobs.values()].filter((job) => !isEnded(job));
    const states = left.map(({ state, blockedBy }) => (blockedBy > 0 ? "blocked" : state));
    judge.broken.push(`I14: ${left.length} of ${terms.jobs} jobs did not end: ${states.join(", ")}`);
  }

  #allEnded(): boolean {
    for (const job of this.#world.cluster.current.memory.peek().jobs.values())
      if (!isEnded(job)) return false;
    return true;
  }

  #start(): void {
    this.#crew.start((process, point) => this.#atPoint(process, point));
  }

  // --- what befalls them ---

  #armFault(fault: EventFault): void {
    const { faults, chance, time } = this.#world;
    const perSecond = faults.rateOf(fault);
    if (perSecond === 0) return;
    const waitMs = (-Math.log(1 - chance.next()) / perSecond) * 1_000;
    time.after(waitMs, () => {
      if (this.#isHealed) return;
      if (faults.happens(fault)) {
        this.#world.tell(() => fault);
        this.#strike(fault);
      }
      this.#armFault(fault);
    });
  }

  #strike(fault: EventFault): void {
    const { chance, cluster, terms } = this.#world;
    const { leaseMs } = terms;
    const victim = chance.of(this.#crew.running.filter(({ process }) => !process.isDead));
    if (victim === undefined) return;
    if (fault === "freeze") this.#freeze(victim.process, 0.1, chance.happens(0.3) ? 10 : 2);
    else if (fault === "block the loop") this.#freeze(victim.process, 0.1, 2);
    else if (fault === "kill") this.#kill(victim.process);
    else if (fault === "stop") this.#stop(victim);
    else if (fault === "step a process's clock") {
      victim.process.step(chance.between(-90_000, 90_000));
    } else if (fault === "cut off the destination") this.#cutOff(chance.between(0.1, 2) * leaseMs);
    else if (fault === "cancel" || fault === "revoke" || fault === "retry") this.#operate(fault);
    else {
      this.#world.judge.storeInTrouble(0);
      if (fault === "step the store's clock") cluster.stepClock(chance.between(-3, 3) * leaseMs);
      else if (fault === "pause the store") this.#pauseStore(chance.between(0.1, 2) * leaseMs);
      else if (fault === "stall the standby") this.#stallStandby(chance.between(0.1, 2) * leaseMs);
      else if (fault === "raise the floor") this.#raiseFloor();
      else if (fault === "fail over") this.#failOver();
    }
  }

  #operate(what: "cancel" | "revoke" | "retry"): void {
    const { chance, cluster } = this.#world;
    const ids = [...cluster.current.memory.peek().jobs.keys()];
    if (ids.length === 0) return;
    const args = what === "retry" ? [[chance.of(ids)], chance.happens(0.5), CALL] : [[chance.of(ids)], CALL];
    void cluster.serve(cluster.current, what, args).catch(() => {});
  }

  #raiseFloor(): void {
    const { cluster } = this.#world;
    // Whoever raises it repeats that where nobody knows: it is there already, and a second raise does no harm.
    void cluster.serve(cluster.current, "raiseFloor", [CALL]).catch(() => {});
  }

  /** Whoever has waited for it is troubled until it answers again. */
  #pauseStore(ms: number): void {
    const { cluster, judge } = this.#world;
    cluster.pause(ms);
    judge.storeInTrouble(ms);
  }

  #stallStandby(ms: number): void {
    const { cluster, judge, terms } = this.#world;
    cluster.stallStandby(ms);
    if (terms.cluster.isSynchronous) judge.storeInTrouble(ms);
  }

  #failOver(): void {
    const { cluster, chance, terms, judge, time } = this.#world;
    const promote = (): void => {
      if (this.#isHealed) return;
      judge.storeInTrouble(terms.cluster.zombieMs);
      cluster.failOver(chance.happens(0.5) ? 0 : chance.between(-1, 1) * terms.leaseMs);
    };
    promote();
    // Twice, before everybody has noticed the first.
    if (chance.happens(0.3)) time.after(chance.between(0, terms.leaseMs), promote);
  }

  #cutOff(ms: number): void {
    const { destination, time } = this.#world;
    destination.isCutOff = true;
    time.after(ms, () => {
      destination.isCutOff = false;
    });
  }

  #freeze(process: SimProcess, from: number, to: number): void {
    const { chance, terms } = this.#world;
    const ms = chance.between(from, to) * terms.leaseMs;
    if (ms > terms.leaseMs && this.#isRunning(process)) this.#freezesInRuns++;
    process.freeze(ms);
  }

  #kill(process: SimProcess): void {
    if (process.isDead) return;
    if (this.#isRunning(process)) this.#killsInRuns++;
    process.kill();
    this.#startAnother(2 * this.#world.terms.leaseMs);
  }

  #isRunning(process: SimProcess): boolean {
    const running = this.#crew.running.find((one) => one.process === process);
    return running !== undefined && running.worker.running > 0;
  }

  /** The worker stops; its process ends then, or goes on with what else it does. */
  #stop(running: Running): void {
    if (running.isStopped) return;
    running.isStopped = true;
    const { worker, process } = running;
    const ends = this.#world.chance.happens(0.5);
    process.later(0, () => {
      void worker.stop().then(() => {
        if (ends) process.kill();
        else this.#world.judge.stopped(worker.owner);
      });
    });
    this.#startAnother(this.#world.terms.leaseMs);
  }

  #startAnother(withinMs: number): void {
    const { time, chance } = this.#world;
    time.after(chance.between(0, withinMs), () => this.#start());
  }

  /** Between the look at the deadline and the send, a freeze is worth ten elsewhere. */
  #atPoint(process: SimProcess, point: FaultPoint): void {
    const { faults, chance } = this.#world;
    const strikes = (fault: EventFault, probability: number): boolean =>
      faults.rateOf(fault) > 0 && chance.happens(probability) && faults.happens(fault);
    const isAim = point === "before-effect-send" || point === "before-complete-send";
    if (strikes("freeze at a point", isAim ? 0.25 : 0.05)) {
      if (isAim) this.#freeze(process, 0.8, 3);
      else this.#freeze(process, 0.2, chance.happens(0.3) ? 5 : 2);
    }
    if (strikes("kill at a point", isAim ? 0.05 : 0.02)) this.#kill(process);
  }
}

const CALL = { timeoutMs: 1_000 };
