import assert from "node:assert/strict";
import { systemWorld } from "../../src/clock/system.ts";
import type { NewJob } from "../../src/protocol/enqueue.ts";
import { type Generation, generation, type JobId, type Owner } from "../../src/protocol/identity.ts";
import type { ConformanceWorld } from "../../src/testing/index.ts";
import { explore } from "./explore.ts";
import {
  beginning,
  fenceOf,
  HOUR_MS,
  LAPSE_MS,
  LEASE_MS,
  type Model,
  markAbove,
  NOW_MS,
  newHistoryJob,
  OTHER_RUN,
  SMALL_STEP_MS,
  type Step,
  settlementOf,
  shape,
  told,
} from "./histories.ts";
import { play } from "./play.ts";

const OPTIONS = { timeoutMs: 15_000 };

/**
 * Replays every history of at most `length` steps on a store, and compares each answer, each row and each named lease
 * with what the protocol core makes of the same step. One store does for all: a history has a job, a queue and a
 * resource of its own, and begins at whatever floor those before it have left.
 *
 * @returns how many histories and steps were compared
 */
export async function replayHistories(
  world: ConformanceWorld,
  length: number,
  withResource: boolean,
): Promise<{ readonly histories: number; readonly steps: number }> {
  const histories = historiesOf(length, withResource ? "r" : null);
  const replayer = new Replayer(world);
  let steps = 0;
  for (const history of histories) {
    await replayer.replay(withResource, history.length, (_, index) => history[index] as Step);
    steps += history.length;
  }
  return { histories: histories.length, steps };
}

/** As few histories as hold every step from every state: what is refused changes nothing, so it goes into one. */
function historiesOf(length: number, resource: string | null): Step[][] {
  const histories: Step[][] = [];
  const refused = new Map<string, Step[]>();
  explore(length, resource, ({ steps, transitions, before, after, isNew }) => {
    const changes = transitions.length > 0 || JSON.stringify(before) !== JSON.stringify(after);
    if (changes) {
      if (!isNew || steps.length === length) histories.push([...steps]);
      return;
    }
    const path = steps.slice(0, -1);
    const known = refused.get(told(path));
    if (known === undefined) refused.set(told(path), [...steps]);
    else known.push(steps.at(-1) as Step);
  });
  return [...histories, ...refused.values()];
}

/** Replays histories one after the other on one store. */
export class Replayer {
  readonly #world: ConformanceWorld;
  #number = 0;
  #epoch = 0;
  #deletedGeneration: Generation = generation(0);

  constructor(world: ConformanceWorld) {
    this.#world = world;
  }

  /** Plays `length` steps; `next` chooses each, knowing where the history stands. */
  async replay(
    withResource: boolean,
    length: number,
    next: (model: Model, index: number) => Step,
  ): Promise<void> {
    const world = this.#world;
    const { store } = world;
    this.#number += 1;
    const resource = withResource ? `account:${this.#number}` : null;
    const job = newHistoryJob(systemWorld().ids.jobId(), `history ${this.#number}`, resource);
    await store.enqueue([job], OPTIONS);
    let model: Model = beginning(job, { epoch: this.#epoch, deletedGeneration: this.#deletedGeneration });
    const steps: Step[] = [];

    for (let index = 0; index < length; index += 1) {
      const step = next(model, index);
      steps.push(step);
      const answer = await playOnStore(world, model, job, step);
      if (step.op === "raise floor") this.#epoch = answer as number;
      const played = play(model, step, this.#epoch);
      model = played.model;
      const [row] = await store.get([job.jobId], OPTIONS);
      const lease = resource === null ? undefined : await store.getLease(resource, OPTIONS);
      const found = {
        answer: step.op === "raise floor" ? played.answer : answer,
        row: shape(row, lease, await store.nowMs(OPTIONS)),
      };
      const expected = { answer: played.answer, row: shape(model.job, model.lease, NOW_MS) };
      assert.deepEqual(plain(found), plain(expected), `after: ${told(steps)}`);
    }
    // Away with it, so that the next claims do not wade through what is left of a thousand histories.
    for (const act of ["revoke", "cancel"] as const) await store[act]([job.jobId], OPTIONS);
    const [deleted] = await store.delete([job.jobId], OPTIONS);
    const last = deleted?.outcome === "applied" ? deleted.generation : model.floor.deletedGeneration;
    this.#deletedGeneration = generation(Math.max(this.#deletedGeneration, last));
  }
}

/** Without members that are undefined, which a comparison would otherwise tell from missing ones. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Takes the step on the store, and puts its answer into the words of the model. */
async function playOnStore(world: ConformanceWorld, model: Model, job: NewJob, step: Step): Promise<unknown> {
  const { store } = world;
  const { jobId: id, resource, queue } = job;
  switch (step.op) {
    case "claim":
      return claimOnStore(world, id, queue, step.owner as Owner, step.takeover);
    case "lapse":
    case "step back":
    case "small step back":
      for (const what of resource === null ? [id] : [id, resource]) {
        if (step.op === "lapse") await world.lapse(what, LAPSE_MS);
        else await world.setBack(what, step.op === "step back" ? HOUR_MS : SMALL_STEP_MS);
      }
      return "done";
    case "lapse of the resource":
      if (resource !== null) await world.lapse(resource, LAPSE_MS);
      return "done";
    case "raise floor":
      return (await store.raiseFloor(OPTIONS)).epoch;
    case "other run of the resource": {
      if (resource === null) return "none";
      const answer = await store.acquire({ name: resource, owner: OTHER_RUN, leaseMs: LEASE_MS }, OPTIONS);
      return answer.outcome === "held" ? "held" : answer.token.generation;
    }
    case "cancel":
      return withoutWords((await store.cancel([id], OPTIONS))[0]);
    case "revoke":
      return withoutWords((await store.revoke([id], OPTIONS))[0]);
    case "retry":
      return withoutWords((await store.retry([id], false, OPTIONS))[0]);
    case "delete":
      return withoutWords((await store.delete([id], OPTIONS))[0]);
    default:
      return ownOnStore(world, model, { ...fenceOf(model, step), jobId: id }, step.op);
  }
}

function withoutWords(answer: object | undefined): unknown {
  const { why: _, token: __, ...rest } = (answer ?? {}) as Record<string, unknown>;
  return rest;
}

async function claimOnStore(
  { store }: ConformanceWorld,
  id: JobId,
  queue: string,
  owner: Owner,
  takeover: boolean,
): Promise<unknown> {
  const { jobs, ended } = await store.claim({ owner, queues: [queue], limit: 5, takeover }, OPTIONS);
  return {
    jobs: jobs.map(({ job, previous }) => [
      job.generation,
      job.resourceGeneration,
      previous?.owner ?? null,
      previous?.generation ?? null,
    ]),
    // A store may end lapsed jobs of other queues as well, and so those of earlier histories.
    ended: ended.filter(({ jobId }) => jobId === id).map(({ state }) => state),
  };
}

async function ownOnStore(
  { store }: ConformanceWorld,
  model: Model,
  fence: ReturnType<typeof fenceOf>,
  op: string,
): Promise<unknown> {
  const settlement = settlementOf(op, fence);
  if (settlement !== undefined) return (await store.settle([settlement], OPTIONS))[0];
  if (op === "heal") return store.heal(fence, markAbove(model), OPTIONS);
  if (op === "progress") return (await store.write([{ fence, progress: '"half"' }], OPTIONS))[0];
  const [answer] = await store.renew([fence], OPTIONS);
  if (answer?.outcome !== "applied") return answer;
  const { lapsedMs, ...rest } = answer;
  return { ...rest, lapsed: lapsedMs > 0 };
}
