import { generation, type JobId } from "../../src/protocol/identity.ts";
import type { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { CallOptions, Claimed, ClaimRequest, Store } from "../../src/stores/store.ts";

/**
 * Stores with one rule of the protocol left out each: the suite must catch every one of them by name, or it is too weak.
 * Each is the sound memory store behind a method that breaks the rule.
 */
export const BROKEN: Readonly<Record<string, (sound: MemoryStore) => Store>> = {
  /** Whoever owns the job may complete it, also with a generation from before. */
  "completion ignores the generation": (sound) =>
    withMethod(sound, "settle", async (settlements, options) => {
      const jobs = await sound.get(settlements.map(({ fence }) => fence.jobId));
      const shown = settlements.map((member, n) => {
        const current = jobs[n]?.generation ?? member.fence.generation;
        return member.operation === "complete"
          ? { ...member, fence: { ...member.fence, generation: current } }
          : member;
      });
      return sound.settle(shown, options);
    }),

  /** Whoever knows the generation may complete the job. */
  "completion ignores the owner": (sound) =>
    withMethod(sound, "settle", async (settlements, options) => {
      const jobs = await sound.get(settlements.map(({ fence }) => fence.jobId));
      const shown = settlements.map((member, n) => {
        const current = jobs[n]?.owner ?? member.fence.owner;
        return member.operation === "complete"
          ? { ...member, fence: { ...member.fence, owner: current } }
          : member;
      });
      return sound.settle(shown, options);
    }),

  /** A lapsed job is handed to the next owner under the generation of the one before. */
  "reclaim does not raise": (sound) =>
    withMethod(sound, "claim", async (request, options) => {
      const claimed = await sound.claim(request, options);
      const jobs = claimed.jobs.map((member) => {
        if (member.previous === undefined) return member;
        const lowered = generation(member.job.generation - 1);
        sound.tamper(member.job.jobId, (job) => ({ ...job, generation: lowered }));
        return {
          ...member,
          job: { ...member.job, generation: lowered },
          token: { ...member.token, generation: lowered },
        };
      });
      return { ...claimed, jobs };
    }),

  /** Whoever knows the job may write its steps. */
  "steps ignore the fence": (sound) =>
    withMethod(sound, "write", async (writes, options) => {
      const jobs = await sound.get(writes.map(({ fence }) => fence.jobId));
      const shown = writes.map((member, n) => {
        const { owner, generation: current } = jobs[n] ?? {};
        const isStep = "step" in member && owner !== null && owner !== undefined && current !== undefined;
        return isStep ? { ...member, fence: { ...member.fence, owner, generation: current } } : member;
      });
      return sound.write(shown, options);
    }),

  /** Steps belong to the id, and stay when its job is gone. */
  "a pruning leaves the steps": (sound) => {
    const kept = new Map<JobId, Awaited<ReturnType<Store["steps"]>>>();
    return withMethod(sound, "steps", async (id, run) => {
      const steps = await sound.steps(id, run);
      if (steps.length > 0) kept.set(id, steps);
      return kept.get(id) ?? [];
    });
  },

  /** A claim takes whatever is leased, expired or not. */
  "claim takes unexpired leases": (sound) =>
    withMethod(sound, "claim", async (request, options) => {
      for (const id of await leasedIn(sound, request, options)) {
        sound.tamper(id, (job) => ({ ...job, leaseUntilMs: job.createdAtMs }));
      }
      return sound.claim(request, options);
    }),

  /** A claim takes jobs whatever they wait for. */
  "claim takes blocked jobs": (sound) =>
    withMethod(sound, "claim", async (request, options) => {
      const { jobs } = await sound.list({ states: ["ready"] }, { limit: 10_000 });
      for (const { jobId } of jobs) sound.tamper(jobId, (job) => ({ ...job, blockedBy: 0 }));
      return sound.claim(request, options);
    }),
};

type Methods = {
  settle: Store["settle"];
  write: Store["write"];
  steps: Store["steps"];
  claim: (request: ClaimRequest, options: CallOptions) => Promise<Claimed>;
};

function withMethod<M extends keyof Methods>(sound: MemoryStore, method: M, broken: Methods[M]): Store {
  return new Proxy(sound, {
    get(target, property): unknown {
      if (property === method) return broken;
      const member: unknown = Reflect.get(target, property);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

async function leasedIn(store: Store, { queues }: ClaimRequest, options: CallOptions): Promise<JobId[]> {
  const { jobs } = await store.list({ states: ["leased"] }, { limit: 10_000 }, options);
  return jobs.filter(({ queue }) => queues.includes(queue)).map(({ jobId }) => jobId);
}
