import type { Listener, Store } from "../../src/stores/store.ts";
import type { Chance } from "./chance.ts";
import type { Cluster, Served } from "./cluster.ts";
import type { Faults } from "./faults.ts";
import type { Position, Primary } from "./primary.ts";
import type { SimProcess } from "./sim-process.ts";
import { StoreStub } from "./store-stub.ts";
import type { Wire } from "./wire.ts";

/** One answer that has reached the process, with its monotonic time when the request was made. */
export interface Heard {
  readonly method: string;
  readonly args: readonly unknown[];
  readonly value: unknown;
  readonly sentMs: number;
  readonly position: Position;
}

/** The store as one process reaches it: by its wire, and at the primary that it takes for the present one. */
export class RemoteStore {
  readonly store: Store;
  /** Told of each call, as it is made. */
  onCall: (method: string, args: readonly unknown[]) => void = () => {};
  /** Told of each answer that has come. */
  onAnswer: (heard: Heard) => void = () => {};
  /** Told of each call that failed, when its process knows. */
  onFailure: (method: string, args: readonly unknown[]) => void = () => {};
  readonly #process: SimProcess;
  readonly #cluster: Cluster;
  readonly #wire: Wire;
  readonly #faults: Faults;
  readonly #chance: Chance;
  #primary: Primary;
  readonly #listeners = new Set<{ onWake: () => void; listener: Listener }>();

  constructor(process: SimProcess, cluster: Cluster, wire: Wire, faults: Faults, chance: Chance) {
    this.#process = process;
    this.#cluster = cluster;
    this.#wire = wire;
    this.#faults = faults;
    this.#chance = chance;
    this.#primary = cluster.current;
    this.store = new StoreStub(
      (method, args) => this.#call(method, args),
      (onWake) => this.#listen(onWake),
    ) as unknown as Store;
    cluster.onPromotion.push((current, zombieMs) => {
      if (process.isDead) return;
      process.later(chance.between(0, zombieMs), () => this.#connect(current));
    });
  }

  get primary(): Primary {
    return this.#primary;
  }

  async #call(method: string, args: readonly unknown[]): Promise<unknown> {
    const options = args.at(-1) as { readonly timeoutMs?: number } | undefined;
    const sentMs = this.#process.monotonicMs();
    const primary = this.#primary;
    this.onCall(method, args);
    if (primary.isGone) {
      this.#process.later(this.#faults.delayMs(this.#chance), () => this.#connect(this.#cluster.current));
    }
    const serve = (): Promise<Served> =>
      method === "completeWith" && (this.#process.isDead || this.#process.isFrozen)
        ? new Promise(() => {})
        : this.#cluster.serve(primary, method, args, this.#process.world.clock.wallMs());
    const { value, position } = await this.#wire
      .call(method, options?.timeoutMs ?? 5_000, serve)
      .catch((error: unknown) => {
        this.onFailure(method, args);
        throw error;
      });
    this.onAnswer({ method, args, value, sentMs, position });
    return value;
  }

  #connect(primary: Primary): void {
    if (primary.timeline <= this.#primary.timeline) return;
    this.#primary = primary;
    for (const known of this.#listeners) {
      known.listener.close();
      known.listener = this.#heard(known.onWake);
      known.onWake();
    }
  }

  #listen(onWake: () => void): Listener {
    const known = { onWake, listener: this.#heard(onWake) };
    this.#listeners.add(known);
    return {
      arm: () => known.listener.arm(),
      close: () => {
        this.#listeners.delete(known);
        known.listener.close();
      },
    };
  }

  #heard(onWake: () => void): Listener {
    return this.#primary.memory.listen(() => {
      if (this.#process.isDead || this.#faults.strikes("lose wake-up", this.#chance)) return;
      this.#process.later(this.#faults.delayMs(this.#chance), onWake);
    });
  }
}
