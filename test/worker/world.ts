import { Leasehold, type LeaseholdOptions } from "../../src/client/leasehold.ts";
import type { LogEntry } from "../../src/client/log.ts";
import { type ManualWorld, manualWorld } from "../../src/clock/manual.ts";
import { owner } from "../../src/protocol/identity.ts";
import { memory } from "../../src/stores/memory/index.ts";
import type { ClaimedJob } from "../../src/stores/store.ts";
import { type FaultyStore, faulty } from "./faulty-store.ts";

export interface TestWorld {
  readonly world: ManualWorld;
  readonly store: FaultyStore;
  readonly leasehold: Leasehold;
  readonly log: LogEntry[];
  /** Another process on the same store. */
  another(): Leasehold;
  /** A process that can be killed: from then on nothing of it reaches the store. */
  mortal(): { readonly leasehold: Leasehold; kill(): void };
}

/** A world of its own for each test: nothing moves unless the test moves it. The store's clock never steps. */
export function testWorld(options: Partial<LeaseholdOptions> = {}): TestWorld {
  const world = manualWorld({ seed: 7 });
  const log: LogEntry[] = [];
  const inner = memory({
    nowMs: () => Math.floor(1_700_000_000_000 + world.clock.monotonicMs()),
    timers: world.timers,
  });
  const store = faulty(inner);
  const leasehold = new Leasehold({ store, world, log: (entry) => void log.push(entry), ...options });
  return {
    world,
    store,
    leasehold,
    log,
    another: () => new Leasehold({ store: inner, world, log: () => {} }),
    mortal() {
      let dead = false;
      const silent = (target: object, key: string | symbol): unknown => {
        const member = Reflect.get(target, key) as unknown;
        if (key === "schedules") return new Proxy(member as object, { get: silent });
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => (dead ? new Promise(() => {}) : member.apply(target, args));
      };
      const own = new Proxy(store, { get: silent }) as FaultyStore;
      const kill = (): void => {
        dead = true;
      };
      return { leasehold: new Leasehold({ store: own, world, log: () => {} }), kill };
    },
  };
}

/** A promise that the test settles itself: a handler that goes on for as long as the test likes. */
export interface Gate<Value = void> {
  readonly promise: Promise<Value>;
  open(value: Value): void;
  fail(error: unknown): void;
}

export function gate<Value = void>(): Gate<Value> {
  let open!: (value: Value) => void;
  let fail!: (error: unknown) => void;
  const promise = new Promise<Value>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  promise.catch(() => {});
  return { promise, open, fail };
}

/** Claims as a worker that will never be heard of again. */
export async function claimAndDie(
  store: FaultyStore,
  queue: string,
  limit = 100,
): Promise<readonly ClaimedJob[]> {
  const dead = owner(`dead ${deaths++}`);
  const claimed = await store.claim(
    { owner: dead, queues: [queue], limit, takeover: true },
    { timeoutMs: 1_000 },
  );
  return claimed.jobs;
}

let deaths = 0;
