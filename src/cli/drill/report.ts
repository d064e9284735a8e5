import type { DestinationLevel, ProbeResult } from "../../destinations/destination.ts";
import type { Figures } from "./figures.ts";
import type { Verdict } from "./verdict.ts";

/** What a drill prints. */
export interface Report {
  readonly ok: boolean;
  readonly store: string;
  readonly destination: {
    readonly name: string;
    readonly level: DestinationLevel;
    readonly probe: ProbeResult;
    readonly expected: DestinationLevel | null;
  };
  /** The same plan again: `--seed`. When what happens in it is the machine's. */
  readonly seed: number;
  readonly leaseMs: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly figures: Figures;
  readonly verdict: Verdict;
  readonly stays: readonly string[];
  readonly interruptedBy: string | null;
}
