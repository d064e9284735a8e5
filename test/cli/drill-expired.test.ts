import { describe, expect, it } from "vitest";
import type { Crew, Performer } from "../../src/cli/drill/crew.ts";
import { firstEnd } from "../../src/cli/drill/first-end.ts";
import type { FromWorker } from "../../src/cli/drill/messages.ts";
import { drilledJob, playRound, type Round } from "../../src/cli/drill/round.ts";
import { viewOf } from "../../src/cli/drill/store-view.ts";
import type { Target } from "../../src/cli/drill/target.ts";
import { manualWorld } from "../../src/clock/manual.ts";
import { defineJob, Leasehold } from "../../src/index.ts";
import { owner } from "../../src/protocol/identity.ts";
import { memory } from "../../src/stores/memory/index.ts";
import { claimAndDie, gate, testWorld } from "../worker/world.ts";

const CALL = { timeoutMs: 1_000 };

describe("an owner of a drill that cannot renew in time by its own clock", () => {
  it("tells that its trust has ended, and not that it was refused afterwards", async () => {
    const { world, store } = testWorld();
    const { store: cutOff } = viewOf(store, { losesRenewals: true });
    const leasehold = new Leasehold({ store: cutOff, world, log: () => {} });
    const handler = gate();
    const job = defineJob({ name: "drilled", leaseMs: 600, run: () => handler.promise });
    await leasehold.enqueue(job);
    const end = firstEnd(leasehold.work([job], { renewer: "inline" }));
    await world.advance(650);
    expect(await claimAndDie(store, "drilled")).toHaveLength(1); // so that its completion is refused
    handler.open();
    await world.advance(1_000);
    expect(await end).toBe("expired");
  });

  it("tells of its completion when its renewals are answered", async () => {
    const { world, leasehold } = testWorld();
    const handler = gate();
    const job = defineJob({ name: "drilled", leaseMs: 600, run: () => handler.promise });
    await leasehold.enqueue(job);
    const end = firstEnd(leasehold.work([job], { renewer: "inline" }));
    await world.advance(650);
    handler.open();
    await world.advance(1_000);
    expect(await end).toBe("completed");
  });

  /** A round in which A dies and B, on a real store, tells that it came to `end`. */
  async function playedTo(end: string): Promise<Round> {
    const world = manualWorld({ seed: 1 });
    const store = memory({ nowMs: () => Math.floor(1e12 + world.clock.monotonicMs()), timers: world.timers });
    await store.open();
    const job = drilledJob(world.ids.jobId());
    const claim = async (name: string): Promise<void> => {
      const request = { owner: owner(name), queues: ["drill"], limit: 1, takeover: true };
      expect((await store.claim(request, CALL)).jobs).toHaveLength(1);
    };
    const performer = (words: readonly FromWorker[], begin: () => Promise<void>): Performer => {
      const left = [...words];
      let begun = Promise.resolve();
      return {
        pid: 1,
        work: () => {
          begun = begin();
        },
        hear: async (kind) => {
          await begun;
          const word = left.shift();
          if (word?.kind !== kind) throw new Error(`the script has no "${kind}" here`);
          return word as never;
        },
        go: () => {},
        release: () => {},
        died: async () => {
          await world.advance(1_001);
        },
      };
    };
    const wrote: FromWorker = { kind: "wrote", answer: { outcome: "answered" } };
    const a = performer([{ kind: "claimed", generation: 1 }, wrote], () => claim("a"));
    const b = performer(
      [
        { kind: "claimed", generation: 2, previous: { generation: 1, endedAgoMs: 1 } },
        wrote,
        { kind: "ended", end, completions: [] },
      ],
      () => claim("b"),
    );
    const crew = { get: (name: "A" | "B") => (name === "A" ? a : b), dismiss: () => {} } as unknown as Crew;
    const target = { read: async () => null } as unknown as Target;
    const planned = { number: 1, fault: "kill-before-complete", delayMs: 0, successor: "done" } as const;
    return playRound(planned, job, {
      store,
      queue: "drill",
      leaseMs: 1_000,
      target,
      crew,
      world,
      folder: "",
    });
  }

  it("breaks the round off, with what to change, and nothing is held against the store", async () => {
    const round = await playedTo("expired");
    expect(round.brokenOff).toMatch(/could not renew its lease of 1000 ms in time: give --lease more/);
    expect(round.storeFaults).toEqual([]);
  });

  it("differs from one that is refused by nobody and still cannot end its job: that is the store's fault", async () => {
    const round = await playedTo("released");
    expect(round.brokenOff).toBeNull();
    expect(round.storeFaults).toContain('the completion of the current owner came to "released"');
  });
});
