/** What may be said of a store and a destination after a drill, and no more than that. */

import type { DestinationLevel, ProbeResult } from "../../destinations/destination.ts";
import { EXIT, type ExitCode } from "../exit.ts";
import type { Figures } from "./figures.ts";

export interface Verdict {
  readonly exitCode: ExitCode;
  readonly store: string;
  readonly destination: string;
  /** How the drill itself fared, when not all of it was played; else null. */
  readonly drill: string | null;
}

/** What is known of the destination beside the rounds. */
export interface Declared {
  readonly level: DestinationLevel;
  readonly probe: ProbeResult;
  /** What the caller says that it need only be; undefined: at least fenced. */
  readonly expected: DestinationLevel | undefined;
}

export function verdictOf(figures: Figures, declared: Declared): Verdict {
  const store = storeVerdict(figures);
  const destination = destinationVerdict(figures, declared);
  const unplayed = figures.faults.reduce((sum, { planned, played }) => sum + planned - played, 0);
  const drill =
    unplayed === 0 ? null : `${counted(unplayed, "round")} not played to the end, which show nothing.`;
  const isKept = store.isKept && destination.isKept;
  const exitCode = !isKept ? EXIT.failed : drill === null ? EXIT.done : EXIT.unreachable;
  return { exitCode, store: store.text, destination: destination.text, drill };
}

interface Judgement {
  readonly isKept: boolean;
  readonly text: string;
}

function storeVerdict({ store, reclaims }: Figures): Judgement {
  const { lateRenewals, lateCompletions, faults } = store;
  if (faults.length > 0)
    return { isKept: false, text: `BROKEN: ${counted(faults.length, "thing")} seen that no store may do.` };
  const late = lateRenewals.sent + lateCompletions.sent;
  if (late === 0)
    return { isKept: true, text: "nothing wrong was seen; no late owner came, so it had nothing to refuse." };
  return {
    isKept: true,
    text: `refused all ${late} late renewals and completions; ${counted(reclaims.count, "job")} taken over, each after its lease had ended.`,
  };
}

function destinationVerdict(
  { lateWrites, repeats }: Figures,
  { level, probe, expected }: Declared,
): Judgement {
  const promises = (what: "fenced" | "deduplicated"): boolean => level.includes(what);
  // What nobody asked to be spared is asked for: a late write that lands is what a drill is there to show.
  const mustFence = promises("fenced") || (expected?.includes("fenced") ?? true);
  const mustDedupe = promises("deduplicated") || (expected?.includes("deduplicated") ?? false);
  const through = lateWrites.letThrough.length;
  const again = repeats.madeAgain.length;
  const isUnclear = lateWrites.failed.length > 0 || repeats.failed.length > 0;
  const isUnproven = mustFence && promises("fenced") && !probe.isProven;
  const said = [
    through > 0
      ? `LET THROUGH ${through} of ${counted(lateWrites.sent, "late write")}${though(promises("fenced"), level)}`
      : lateWritesText(lateWrites),
    again > 0
      ? `made ${again} of ${counted(repeats.sent, "repeated effect")} again${though(promises("deduplicated"), level)}`
      : repeats.answered > 0
        ? `answered ${counted(repeats.answered, "repeated effect")} from the first record`
        : "",
    isUnclear ? "some writes failed for another reason than its fence, which shows nothing" : "",
    isUnproven ? "its probe is not proven" : "",
  ].filter((part) => part !== "");
  return {
    isKept: !(mustFence && through > 0) && !(mustDedupe && again > 0) && !isUnclear && !isUnproven,
    text: said.length === 0 ? "nothing was asked of it." : `${said.join("; ")}.`,
  };
}

function lateWritesText({ sent, refused, answered }: Figures["lateWrites"]): string {
  if (sent === 0) return "";
  if (refused === sent) return `refused ${sent} of ${counted(sent, "late write")}`;
  const asRepeats = answered > 0 ? `, answered ${answered} as repeats` : "";
  return `of ${counted(sent, "late write")} none landed: it refused ${refused}${asRepeats}`;
}

function though(isPromised: boolean, level: DestinationLevel): string {
  return isPromised ? `, although it declares "${level}"` : "";
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
