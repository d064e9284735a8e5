/**
 * What processes say to each other by NOTIFY. A **ring** tells what has become due; a **note** tells who comes next for a queue,
 * and which rings have been answered. Notes begin as a listener's notification to itself does, which earlier versions
 * pass over; of a ring they read no more than that it is one. Queues are hashed: a name may be of any length.
 */

import { createHash } from "node:crypto";
import type { Due } from "../sleepers.ts";

/** A payload is 8,000 bytes at the most. */
const LONGEST = 7_000;

export interface RingText {
  readonly kind: "ring";
  readonly from: string;
  /** Of this ring, and no other one of anybody's. */
  readonly id: string;
  /** Jobs by queue. */
  readonly due: Due;
}

export interface Turn {
  /** Who comes, the first one first; or that who says so comes last from now on, or no more. */
  readonly order: readonly string[] | "joins" | "leaves";
  readonly answered: readonly string[];
}

export interface NoteText {
  readonly kind: "note";
  readonly from: string;
  readonly turns: ReadonlyMap<string, Turn>;
}

export function ringText(me: string, n: number, due: Due): string {
  if (due === "anything") return me;
  return [me, n, ...[...due].map(([queue, jobs]) => `${hashOf(queue)}:${jobs}`)].join(" ");
}

/** As many texts as their length asks for. */
export function noteTexts(me: string, turns: ReadonlyMap<string, Turn>): string[] {
  const texts: string[] = [];
  let text = "";
  for (const [queue, { order, answered }] of turns) {
    const turn = ` ${queue}:${order === "joins" ? "+" : order === "leaves" ? "-" : order.join(",")}:${answered.join(",")}`;
    if (text.length + turn.length > LONGEST) {
      texts.push(text);
      text = "";
    }
    text = text === "" ? `?${me}${turn}` : text + turn;
  }
  if (text !== "") texts.push(text);
  return texts;
}

/** Undefined for what is neither: a listener's own notification. */
export function parsed(payload: string): RingText | NoteText | undefined {
  const [first = "", ...rest] = payload.split(" ");
  if (first.startsWith("?")) {
    if (rest.length === 0) return undefined;
    return { kind: "note", from: first.slice(1), turns: new Map(rest.map(turnOf)) };
  }
  const [n, ...queues] = rest;
  const due: Due = queues.length === 0 ? "anything" : new Map(queues.map(jobsOf));
  return { kind: "ring", from: first, id: `${first}.${n}`, due };
}

function turnOf(text: string): [string, Turn] {
  const [queue = "", list = "", answered = ""] = text.split(":");
  const order = list === "+" ? "joins" : list === "-" ? "leaves" : wordsOf(list);
  return [queue, { order, answered: wordsOf(answered) }];
}

function wordsOf(text: string): string[] {
  return text === "" ? [] : text.split(",");
}

function jobsOf(text: string): [string, number] {
  const [queue = "", jobs] = text.split(":");
  return [queue, Number(jobs) || 1];
}

export function hashOf(queue: string): string {
  return createHash("sha256").update(queue).digest("hex").slice(0, 10);
}
