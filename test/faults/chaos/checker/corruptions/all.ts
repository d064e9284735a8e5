import { CALLERS } from "./callers.ts";
import { DESTINATIONS } from "./destinations.ts";
import type { Corruption } from "./falsified.ts";
import { OWNERS } from "./owners.ts";
import { PROCESSES } from "./processes.ts";
import { ROWS } from "./rows.ts";

export const CORRUPTIONS: readonly Corruption[] = [
  ...ROWS,
  ...DESTINATIONS,
  ...OWNERS,
  ...CALLERS,
  ...PROCESSES,
];
