/** One round: a job, an owner to whom a fault happens, and another who takes over. What was seen is written down. */

import { join } from "node:path";
import type { World } from "../../clock/world.ts";
import type { NewJob } from "../../protocol/enqueue.ts";
import { effectScope, type JobId, jobLine } from "../../protocol/identity.ts";
import type { Store } from "../../stores/store.ts";
import { CALL } from "../client.ts";
import { type Crew, type Performer, RoundBrokenOff } from "./crew.ts";
import { type FaultName, LEAVES_A_LATE_OWNER, type PlannedRound } from "./faults.ts";
import { JOB, type StoreAnswer, type Told, type WriteAnswer } from "./messages.ts";
import { storeFaults } from "./store-faults.ts";
import type { DrilledJob, Target } from "./target.ts";

/** A write, what the destination said to it, and whether anything had changed there afterwards. */
export interface SeenWrite {
  readonly answer: WriteAnswer;
  readonly hasLanded: boolean;
}

/** What an owner did after it had been replaced. */
export interface LateActs {
  readonly awayMs: number;
  readonly write: SeenWrite;
  readonly renewal: StoreAnswer;
  readonly completion: StoreAnswer;
}

export interface Round {
  readonly number: number;
  readonly fault: FaultName;
  readonly job: DrilledJob;
  /** Why nothing is concluded from it; null for a round that went as it was to go. */
  readonly brokenOff: string | null;
  /** A's, and B's when there was a B. */
  readonly generations: readonly number[];
  /** From the lease's end to B's claim, by store time; negative when the lease had not ended. */
  readonly reclaimedAfterMs: number | null;
  /** A and B were both at it for a while, as a lease cannot prevent. */
  readonly hasOverlap: boolean;
  readonly late: LateActs | null;
  /** Of an effect that had been made. */
  readonly repeat: SeenWrite | null;
  /** The store's answer to a completion that was sent again, since the first answer was lost. */
  readonly repeatedCompletion: string | null;
  /** What the store may not have done. */
  readonly storeFaults: readonly string[];
}

export interface Scene {
  readonly store: Store;
  readonly queue: string;
  readonly leaseMs: number;
  readonly target: Target;
  readonly crew: Crew;
  readonly world: World;
  /** The drill's own. */
  readonly folder: string;
}

type Seen = { -readonly [Member in keyof Round]: Round[Member] };

/** @throws only what ends the drill: the store or the destination cannot be asked */
export async function playRound(planned: PlannedRound, job: DrilledJob, scene: Scene): Promise<Round> {
  const { number, fault } = planned;
  const seen: Seen = {
    number,
    fault,
    job,
    brokenOff: null,
    generations: [],
    reclaimedAfterMs: null,
    hasOverlap: false,
    late: null,
    repeat: null,
    repeatedCompletion: null,
    storeFaults: [],
  };
  try {
    await new Play(planned, seen, scene).all();
  } catch (error) {
    if (!(error instanceof RoundBrokenOff)) throw error;
    scene.crew.dismiss();
    return { ...seen, brokenOff: error.message };
  }
  const [record] = await scene.store.get([job.jobId], CALL);
  const journal = await scene.store.journal(jobLine(job.jobId), CALL);
  return { ...seen, storeFaults: storeFaults(seen, record, journal) };
}

class Play {
  readonly #planned: PlannedRound;
  readonly #seen: Seen;
  readonly #scene: Scene;
  readonly #goFile: string;

  constructor(planned: PlannedRound, seen: Seen, scene: Scene) {
    this.#planned = planned;
    this.#seen = seen;
    this.#scene = scene;
    this.#goFile = join(scene.folder, `go-${planned.number}`);
  }

  async all(): Promise<void> {
    const { store, queue, leaseMs, crew } = this.#scene;
    const { fault } = this.#planned;
    await store.enqueue([newJob(this.#seen.job.jobId, queue, leaseMs)], CALL);
    const a = crew.get("A");
    this.#begin(a, fault, fault === "lost-reply");
    if (fault === "lost-reply") return this.#loseReplies(a);
    if (fault === "kill-at-claim") return this.#killAtClaim(a);
    this.#seen.generations = [(await a.hear("claimed")).generation];
    if (LEAVES_A_LATE_OWNER.has(fault)) return this.#replace(a);
    return this.#killBeforeComplete(a);
  }

  async #replace(a: Performer): Promise<void> {
    const { fault, successor } = this.#planned;
    const b = this.#scene.crew.get("B");
    this.#begin(b, "none", successor === "at work", a.pid);
    await this.#takenOver(b);
    await this.#wrote(b);
    if (successor === "done") await this.#completed(b);

    this.#seen.hasOverlap = true; // B has claimed, and A's handler has not ended
    const before = await this.#landed();
    if (fault === "cut-off") a.go();
    else a.release(this.#goFile);
    const { awayMs, write, renewal, completion } = await a.hear("late");
    const hasLanded = (await this.#landed()) !== before;
    this.#seen.late = { awayMs, write: { answer: write, hasLanded }, renewal, completion };
    await a.hear("ended");
    if (successor === "at work") {
      b.go();
      await this.#completed(b);
    }
  }

  async #killAtClaim(a: Performer): Promise<void> {
    await a.died();
    const b = this.#scene.crew.get("B");
    this.#begin(b, "none", false);
    const previous = await this.#takenOver(b);
    this.#seen.generations = [previous, ...this.#seen.generations];
    await this.#wrote(b);
    await this.#completed(b);
  }

  async #killBeforeComplete(a: Performer): Promise<void> {
    await this.#wrote(a);
    await a.died();
    const before = await this.#landed();
    const b = this.#scene.crew.get("B");
    this.#begin(b, "none", false);
    await this.#takenOver(b);
    const { answer } = await b.hear("wrote");
    this.#seen.repeat = { answer, hasLanded: (await this.#landed()) !== before };
    await this.#completed(b);
  }

  async #loseReplies(a: Performer): Promise<void> {
    this.#seen.generations = [(await a.hear("claimed")).generation];
    await this.#wrote(a);
    const before = await this.#landed();
    a.go();
    const { answer } = await a.hear("wrote");
    this.#seen.repeat = { answer, hasLanded: (await this.#landed()) !== before };
    const { completions } = await this.#completed(a);
    this.#seen.repeatedCompletion = completions[1] ?? "not sent";
  }

  #begin(who: Performer, fault: FaultName | "none", waits: boolean, wakePid?: number): void {
    const { delayMs } = this.#planned;
    who.work({
      fault,
      delayMs,
      waits,
      goFile: this.#goFile,
      ...(wakePid === undefined ? {} : { wakePid }),
    });
  }

  /** @returns the generation that B was told to have replaced */
  async #takenOver(b: Performer): Promise<number> {
    const { generation, previous } = await b.hear("claimed");
    if (previous === undefined) throw new RoundBrokenOff("B got a job that nobody had held before");
    this.#seen.generations = [...this.#seen.generations, generation];
    this.#seen.reclaimedAfterMs = previous.endedAgoMs;
    return previous.generation;
  }

  async #wrote(who: Performer): Promise<void> {
    const { answer } = await who.hear("wrote");
    if (answer.outcome === "answered") return;
    throw new RoundBrokenOff(
      `the destination ${answer.outcome} a write of the current owner: ${answer.message}`,
    );
  }

  async #completed(who: Performer): Promise<Told<"ended">> {
    const ended = await who.hear("ended");
    if (ended.end === "expired")
      throw new RoundBrokenOff(
        `the current owner could not renew its lease of ${this.#scene.leaseMs} ms in time: give --lease more, or the machine less to do`,
      );
    // An owner who was not refused by anybody and yet could not end its job: the store is to be asked why.
    if (ended.end !== "completed")
      this.#seen.storeFaults = [`the completion of the current owner came to "${ended.end}"`];
    return ended;
  }

  async #landed(): Promise<string> {
    return JSON.stringify(await this.#scene.target.read(this.#seen.job)) ?? "nothing";
  }
}

export function drilledJob(jobId: JobId): DrilledJob {
  return { jobId, line: jobLine(jobId), effectScope: effectScope(jobId, 1) };
}

function newJob(jobId: JobId, queue: string, leaseMs: number): NewJob {
  return {
    jobId,
    mayRepeat: false,
    name: JOB,
    queue,
    priority: 0,
    due: { delayMs: 0 },
    leaseMs,
    maxAttempts: 10,
    maxRunMs: null,
    backoff: null,
    resource: null,
    unique: null,
    input: JSON.stringify({ drill: queue }),
  };
}
