import { systemWorld } from "../../clock/system.ts";
import type { Timers } from "../../clock/world.ts";
import { MemoryStore } from "./memory-store.ts";

export interface MemoryOptions {
  /** The store's clock (T1), ms since 1970. Default: this machine's. */
  readonly nowMs?: () => number;
  /** What a call's own deadline is measured with. Default: this process's timers. */
  readonly timers?: Timers;
}

/** A store in this process's memory, for tests. */
export function memory(options: MemoryOptions = {}): MemoryStore {
  const { clock, timers } = systemWorld();
  return new MemoryStore(options.nowMs ?? (() => clock.wallMs()), options.timers ?? timers);
}
