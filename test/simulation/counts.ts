import type { Faults } from "./faults.ts";
import { EVENT_FAULTS, MESSAGE_FAULTS } from "./faults.ts";

/** What one run saw, or several of them together. */
export type Counts = Readonly<Record<CountName, number>> & {
  readonly faults: Readonly<Record<string, number>>;
};

export type CountName = keyof typeof FLOORS_OF_A_THOUSAND;

/**
 * What a thousand worlds must have seen at least; with less they would have shown nothing, and the batch is void. A sound run
 * sees several times as much.
 */
export const FLOORS_OF_A_THOUSAND = {
  reclaims: 1_000,
  refusedRenewals: 500,
  lateEnds: 500,
  lateCompletions: 120,
  staleEffects: 60,
  duplicates: 1_000,
  unknown: 2_000,
  freezesInRuns: 300,
  killsInRuns: 100,
  failovers: 200,
  lostGrants: 20,
  zombieAnswers: 200,
  zombieWrites: 50,
  waitsCancelled: 20,
  acknowledgedLost: 1,
  blindDuplicates: 1_000,
  blindOutOfOrder: 40,
  slots: 100,
  freed: 100,
} as const;

/** Each kind of fault has struck at least so often in every batch (acceptance: per enabled nemesis). */
const USES_OF_EACH_FAULT = 3;

export function noCounts(): Counts {
  const counts = Object.fromEntries(Object.keys(FLOORS_OF_A_THOUSAND).map((name) => [name, 0]));
  return { ...(counts as Record<CountName, number>), faults: {} };
}

export function sumOf(one: Counts, other: Counts): Counts {
  const faults: Record<string, number> = { ...one.faults };
  for (const [fault, uses] of Object.entries(other.faults)) faults[fault] = (faults[fault] ?? 0) + uses;
  const names = Object.keys(FLOORS_OF_A_THOUSAND) as CountName[];
  const sums = Object.fromEntries(names.map((name) => [name, one[name] + other[name]]));
  return { ...(sums as Record<CountName, number>), faults };
}

export function usesOf({ uses }: Faults): Record<string, number> {
  return Object.fromEntries(uses);
}

/** Why a batch of so many worlds has shown nothing: what it saw too little of. */
export function voidness(counts: Counts, worlds: number): string[] {
  const missing: string[] = [];
  for (const [name, floor] of Object.entries(FLOORS_OF_A_THOUSAND)) {
    const wanted = Math.floor((floor * worlds) / 1_000);
    const seen = counts[name as CountName];
    if (seen < wanted) missing.push(`${name}: ${seen}, less than ${wanted}`);
  }
  for (const fault of [...MESSAGE_FAULTS, ...EVENT_FAULTS]) {
    const uses = counts.faults[fault] ?? 0;
    if (uses < USES_OF_EACH_FAULT) missing.push(`${fault}: used ${uses} times`);
  }
  return missing;
}
