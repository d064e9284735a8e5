import { join } from "node:path";
import { expect, it } from "vitest";
import type { Settlement } from "../../../src/protocol/settle.ts";
import type { ClaimedJob } from "../../../src/stores/store.ts";
import { CALL, claimAll, fenceOf, newJob, storeOn, temporaryFolder, world } from "./world.ts";

/** A store, and the names of the statements that it has run since they were last asked for. */
function traced() {
  let names: string[] = [];
  const store = storeOn(join(temporaryFolder(), "jobs.db"), { trace: (name) => names.push(name) });
  const ran = (): string[] => {
    const seen = names;
    names = [];
    return seen;
  };
  return { store, ran };
}

function completion(claimed: ClaimedJob, result: string | null = null): Settlement {
  return { operation: "complete", fence: fenceOf(claimed), result };
}

it("a lone plain job goes in by one statement, once its queue is known", async () => {
  const { store, ran } = traced();
  await store.enqueue([newJob()], CALL);
  ran();
  await store.enqueue([newJob()], CALL);
  expect(ran()).toEqual(["enqueue at once"]);
});

it("plain jobs that are alike go in by one statement for 32 of them, and one for the rest", async () => {
  const { store, ran } = traced();
  await store.enqueue([newJob()], CALL);
  ran();
  const jobs = Array.from({ length: 70 }, () => newJob());
  const answers = await store.enqueue(jobs, CALL);
  expect(ran()).toEqual(["moment", "find queue", "last seq", "enqueue one", "enqueue one", "enqueue alike"]);
  expect(answers.map(({ jobId }) => jobId)).toEqual(jobs.map(({ jobId }) => jobId));
  const found = await store.get(
    jobs.map(({ jobId }) => jobId),
    CALL,
  );
  expect(found.map((job) => job?.jobId)).toEqual(jobs.map(({ jobId }) => jobId));
  const seqs = found.map((job) => job?.seq as number);
  expect(seqs).toEqual([...seqs].sort((one, other) => one - other));
});

it("of 70 alike, those that were there before are told, wherever they stand", async () => {
  const { store } = traced();
  const early = [newJob(), newJob(), newJob()];
  await store.enqueue(early, CALL);
  const jobs = Array.from({ length: 70 }, (_, n) => early[[5, 33, 69].indexOf(n)] ?? newJob());
  const answers = await store.enqueue(jobs, CALL);
  const repeated = answers.flatMap(({ outcome }, n) => (outcome === "repeated" ? [n] : []));
  expect(repeated).toEqual([5, 33, 69]);
});

it("completions whose end concerns nobody else take four statements, however many", async () => {
  const { store, ran } = traced();
  await store.enqueue(
    Array.from({ length: 50 }, () => newJob()),
    CALL,
  );
  const claimed = await claimAll(store, world.ids.owner());
  ran();
  const answers = await store.settle(
    claimed.map((job) => completion(job)),
    CALL,
  );
  expect(ran()).toEqual(["moment", "current and plain", "complete", "count ends"]);
  expect(answers).toHaveLength(50);
  expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(["applied"]));
});

it("one that stands twice among plain completions is applied once, and answered as already settled", async () => {
  const { store } = traced();
  await store.enqueue([newJob(), newJob()], CALL);
  const [one, other] = await claimAll(store, world.ids.owner());
  const batch = [one, other, one].map((job) => completion(job as ClaimedJob));
  const answers = await store.settle(batch, CALL);
  expect(answers.map(({ outcome }) => outcome)).toEqual(["applied", "applied", "already"]);
  const [counts] = await store.counts(CALL);
  expect(counts).toMatchObject({ completed: 2 });
});

it("one stale fence among plain completions is refused, and keeps none of the others from being applied", async () => {
  const { store } = traced();
  await store.enqueue([newJob(), newJob()], CALL);
  const [one, other] = await claimAll(store, world.ids.owner());
  const [applied, stale] = await store.settle(
    [
      completion(one as ClaimedJob),
      {
        ...completion(other as ClaimedJob),
        fence: { ...fenceOf(other as ClaimedJob), owner: world.ids.owner() },
      },
    ],
    CALL,
  );
  expect(applied).toMatchObject({ outcome: "applied" });
  expect(stale).toMatchObject({ outcome: "stale" });
});
