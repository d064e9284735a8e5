/** What a destination brings to its conformance suite. */

import type { DestinationLevel, ProbeResult } from "../../destinations/destination.ts";
import type { Mark } from "../../protocol/destination-rule.ts";
import type { FencingToken, JobId, Line } from "../../protocol/identity.ts";
import type { Gap } from "../chapters.ts";

/** What is told of an effect besides its token. */
export interface EffectRequest {
  readonly step?: string;
  readonly request?: unknown;
  /** The run whose effect it is: a lease's `effectScope`. Given with every step that can be a key. */
  readonly scope?: string;
}

/** The answer as text: two effects of other texts have other answers. */
export interface EffectAnswer {
  readonly answer: string;
}

/** One handle on the destination, as one process or connection has it. Refusals are the kit's own typed errors. */
export interface EffectWriter {
  /** As the kit itself tells it. */
  readonly level: DestinationLevel;
  /** Makes an effect by which `effect` is added to what `effects` lists for the token's line. */
  write(token: FencingToken, options: EffectRequest, effect: string): Promise<EffectAnswer>;
  advance(token: FencingToken): Promise<void>;
  markOf(line: Line): Promise<Mark | undefined>;
  probe(): Promise<ProbeResult>;
}

/** A write that has begun its effect and does not go on. */
export interface HeldWrite {
  /** Lets it go on, and answers what it answered. */
  finish(): Promise<EffectAnswer>;
}

/**
 * One fresh and empty destination. The optional members are for destinations that have such a thing; a test that asks
 * for a missing one fails, and is then to be listed among the gaps.
 */
export interface DestinationWorld {
  readonly writer: EffectWriter;

  /** A handle that shares nothing with the others but the destination: of another process, or on another connection. */
  another(): Promise<EffectWriter>;

  /** The effects that have landed for the line, in the order in which they did. */
  effects(line: Line): Promise<readonly string[]>;

  /** A write that shows no token at all, as from a caller who left it out. Rejects with whatever it is refused by. */
  writeWithoutToken?(line: Line, effect: string): Promise<unknown>;

  /** As `write`, but the effect fails after it was made. Rejects with what the effect threw. */
  failInside?(token: FencingToken, options: EffectRequest, effect: string): Promise<unknown>;

  /** Resolves when the effect is under way: its body has been entered and waits. */
  hold?(token: FencingToken, options: EffectRequest, effect: string): Promise<HeldWrite>;

  /** Ends whoever keeps the state as SIGKILL does, and starts it again. Handles from before are dead. */
  restart?(): Promise<EffectWriter>;

  /** Raises `pruned_below` (D7), and drops the marks of jobs below it. */
  prune?(below: JobId): Promise<void>;

  close(): Promise<void>;
}

export interface DestinationHarness {
  /** What the destination declares (D8), and is judged by: tests of what it does not claim are left out. */
  readonly level: DestinationLevel;
  /** A new world for each test. */
  open(): Promise<DestinationWorld>;
  /** Tests that this destination cannot pass, each with its reason. A gap that passes after all is an error. */
  readonly gaps: readonly Gap[];
}

/** The world as a test gets it. */
export type DestinationTestWorld = DestinationWorld & Pick<DestinationHarness, "level">;

/** What a level claims, of which a test may need either or both. */
export type Claim = "fenced" | "deduplicated";

export interface DestinationTest {
  /** A sentence that names the rule, with its clause of the protocol. */
  readonly name: string;
  /** Left out of the suite of a destination whose level does not claim all of these. */
  readonly needs: readonly Claim[];
  readonly run: (world: DestinationTestWorld) => Promise<void>;
}

export interface DestinationChapter {
  readonly name: string;
  readonly tests: readonly DestinationTest[];
}

type Run = DestinationTest["run"];

export function fenced(name: string, run: Run): DestinationTest {
  return { name, needs: ["fenced"], run };
}

export function deduplicated(name: string, run: Run): DestinationTest {
  return { name, needs: ["deduplicated"], run };
}

export function both(name: string, run: Run): DestinationTest {
  return { name, needs: ["fenced", "deduplicated"], run };
}

export function always(name: string, run: Run): DestinationTest {
  return { name, needs: [], run };
}
