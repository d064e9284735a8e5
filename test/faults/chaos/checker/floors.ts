/** What a run must have seen at least: one that saw less shows nothing, and is void. */

import type { Counts } from "./counts.ts";
import type { Evidence } from "./evidence.ts";
import type { Floor } from "./verdict.ts";

export const FLOORS = {
  "expired re-claims": 20,
  "refused renewals": 10,
  "stale effects refused": 20,
  "late completions refused": 3,
  "duplicates answered": 10,
  "unknown outcomes": 10,
  "freezes longer than a lease during a run": 20,
  "kills during a run": 10,
} as const;

/** Uses of each nemesis of the plan. */
const USES = 3;

export function floorsOf({ record }: Pick<Evidence, "record">, counts: Counts): Floor[] {
  const seen: Readonly<Record<keyof typeof FLOORS, number>> = {
    "expired re-claims": counts.claims.reclaims,
    "refused renewals": counts.renewals.refused,
    "stale effects refused": counts.effects.stale,
    "late completions refused": counts.ends.lateRefused,
    "duplicates answered": counts.effects.duplicate,
    "unknown outcomes": counts.unknown,
    "freezes longer than a lease during a run": counts.longFreezes,
    "kills during a run": counts.killsInRuns,
  };
  const floor = (name: string, wanted: number, met: number): Floor => ({
    name,
    wanted: record.floors?.[name] ?? wanted,
    seen: met,
  });
  const floors = Object.entries(FLOORS).map(([name, wanted]) =>
    floor(name, wanted, seen[name as keyof typeof FLOORS]),
  );
  for (const name of record.nemeses)
    floors.push(floor(`uses of ${name}`, USES, counts.nemeses[name]?.uses ?? 0));
  const { rounds, grantsLost, waitsCancelled } = counts.failover;
  if (rounds.async > 0) floors.push(floor("grants lost by failover", 1, grantsLost));
  if (rounds.sync > 0) floors.push(floor("waits cancelled", 1, waitsCancelled));
  // A plan that leaves a thing out altogether says so with a floor of 0.
  return floors.filter(({ wanted }) => wanted > 0);
}
