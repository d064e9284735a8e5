import type { Chance } from "../../simulation/chance.ts";
import type { Controller } from "./controller.ts";

/** Something that goes wrong, again and again, until the faults are over. */
export interface Nemesis {
  readonly name: string;
  /** What it lays hands on alone: of all that name the same, one at a time is under way. */
  readonly seizes?: "store" | "clock";
  /**
   * One use: it goes wrong, stays so for a while, and is mended. Resolves when it is over, and to whether there was one;
   * what lasts ends when `controller.healing` fires, wherever it is.
   */
  begin(controller: Controller, chance: Chance): Promise<boolean>;
  /** After the last use: undoes whatever may still be wrong. */
  heal?(controller: Controller): Promise<void>;
}
