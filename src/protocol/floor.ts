/**
 * Floor and epoch arithmetic (section 1, *Floor*). The epoch stands in the upper bits of every generation, so that a
 * destination that compares one integer also tells apart two histories of one store.
 */

import { type Generation, generation } from "./identity.ts";

export const EPOCH_SIZE: number = 2 ** 32;

/** Store time at which hours for a raised epoch begin to count: 2025-01-01T00:00:00Z, in ms since 1970. */
const EPOCH_ORIGIN_MS = Date.UTC(2025, 0, 1);

export interface FloorState {
  /** Rises after whatever may have lost acknowledged writes; never falls. */
  readonly epoch: number;
  /**
   * The highest generation of any named lease or job ever deleted; 0 when none was. Jobs count, too: a caller may derive
   * the same job id again, and its line must not begin anew.
   */
  readonly deletedGeneration: Generation;
}

/** Generations at or below this were given out before the last loss; their leases are stale (`history`). */
export function epochStart(state: FloorState): Generation {
  return generation(state.epoch * EPOCH_SIZE);
}

/** No generation at or below this may be given out. */
export function floorOf(state: FloorState): Generation {
  return generation(Math.max(state.epoch * EPOCH_SIZE, state.deletedGeneration));
}

/** The generation that a claim, revoke, retry or C12 gives out next. */
export function raised(current: Generation, floor: Generation): Generation {
  return generation(Math.max(current, floor) + 1);
}

/** The epoch after `raise-floor` at store time `nowMs`: above the present one, and above any copy's of this hour. */
export function nextEpoch(epoch: number, nowMs: number): number {
  const hours = Math.floor((nowMs - EPOCH_ORIGIN_MS) / 3_600_000);
  return Math.max(epoch + 1, hours);
}
