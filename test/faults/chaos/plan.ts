import type { Forbidden } from "../../support/optional.ts";
import type { MakeGround } from "./ground.ts";
import type { Nemesis } from "./nemesis.ts";

/** Something that goes wrong, and how often in comparison. */
export interface Weighted {
  readonly nemesis: Nemesis;
  readonly weight: number;
}

/** What a run is made of. */
export interface Plan {
  /** As given to `--plan`. */
  readonly name: string;
  readonly ground: MakeGround;
  /** What befalls the workers; the ground brings what befalls the store. Made anew for each run. */
  readonly nemeses: () => readonly Weighted[];
  /** How many faults may go on at once. Default 3: of four workers one is always left alone. */
  readonly lanes?: number;
  /** What of the plan cannot be had on this machine; such a run is not held to have passed it. */
  readonly skipped?: readonly string[];
  /** What it has to have seen, where that differs from the list of all plans. */
  readonly floors?: Readonly<Record<string, number>>;
  /** Undefined when it can run here, else what is missing. */
  readonly missing?: () => string | Forbidden | undefined;
}
