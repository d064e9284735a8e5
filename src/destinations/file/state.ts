/** What is kept beside a file's content: marks, and below which job they were pruned (D7). */

import type { Mark } from "../../protocol/destination-rule.ts";
import type { Generation, Line, Owner } from "../../protocol/identity.ts";

export interface State {
  readonly marks: ReadonlyMap<Line, Mark>;
  /** Empty when nothing was ever pruned. */
  readonly prunedBelow: string;
}

/** The state with its place in the chain of versions. */
export interface Version {
  readonly id: string;
  readonly parent: string | null;
  readonly state: State;
}

export const NOTHING: State = { marks: new Map(), prunedBelow: "" };

/** Lines are values here and never members' names, so that any text can be one. */
interface Stored {
  readonly id: string;
  readonly parent: string | null;
  readonly prunedBelow: string;
  readonly marks: readonly (readonly [Line, Generation, Owner])[];
}

export function textOf({ id, parent, state }: Version): string {
  const marks: Stored["marks"] = [...state.marks].map(([line, mark]) => [line, mark.generation, mark.owner]);
  const stored: Stored = { id, parent, prunedBelow: state.prunedBelow, marks };
  return `${JSON.stringify(stored)}\n`;
}

export function parseState(text: string): Version {
  const { id, parent, prunedBelow, marks } = JSON.parse(text) as Stored;
  const kept = new Map(marks.map(([line, generation, owner]) => [line, { generation, owner }]));
  return { id, parent, state: { marks: kept, prunedBelow } };
}
