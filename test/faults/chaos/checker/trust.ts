/** Until when each run could trust its lease, by its own clock and from what it had been told (T2). */

import { answerOf, runKey, told } from "./calls.ts";
import type { Evidence } from "./evidence.ts";

/** An answer of yes, which lets its owner trust from when it had asked. */
export interface Grant {
  readonly askedMs: number;
  readonly toldMs: number;
  readonly untilMs: number;
}

export interface Trust {
  /** By run (`runKey`), in the order in which they were told. */
  readonly grants: ReadonlyMap<string, readonly Grant[]>;
  /** When the owner was told that the lease is not its own. */
  readonly refusedMs: ReadonlyMap<string, number>;
}

export function trustOf({ record, callsByOp }: Evidence): Trust {
  const trustMs = record.leaseMs - record.marginMs;
  const grants = new Map<string, Grant[]>();
  const refusedMs = new Map<string, number>();
  const grant = (key: string, askedMs: number, toldMs: number): void => {
    const list = grants.get(key);
    const one = { askedMs, toldMs, untilMs: askedMs + trustMs };
    if (list === undefined) grants.set(key, [one]);
    else list.push(one);
  };
  for (const { invoke, replies } of callsByOp.get("claim") ?? []) {
    for (const reply of replies) {
      if (reply.job === undefined || told(reply) !== "yes") continue;
      const owner = reply.owner ?? invoke.owner;
      grant(runKey(owner === undefined ? reply : { ...reply, owner }), invoke.atMs, reply.atMs);
    }
  }
  for (const call of callsByOp.get("renew") ?? []) {
    const { told: answer, reply } = answerOf(call);
    const key = runKey(call.invoke);
    if (reply === undefined) continue;
    if (answer === "yes") grant(key, call.invoke.atMs, reply.atMs);
    else if (answer === "no" && (reply.outcome === "stale" || reply.outcome === "gone")) {
      refusedMs.set(key, Math.min(reply.atMs, refusedMs.get(key) ?? Number.POSITIVE_INFINITY));
    }
  }
  for (const list of grants.values()) list.sort((one, other) => one.toldMs - other.toldMs);
  return { grants, refusedMs };
}

/** The latest end of trust that an owner knew of at `atMs`; undefined when it had been granted nothing. */
export function trustedUntil(grants: readonly Grant[] | undefined, atMs: number): number | undefined {
  const known = (grants ?? []).filter(({ toldMs }) => toldMs <= atMs).map(({ untilMs }) => untilMs);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Each time that trust ran out, and when an answer came that gave it again; undefined: none did. */
export function lapsesOf(
  grants: readonly Grant[] | undefined,
): { readonly lostMs: number; readonly againMs: number | undefined }[] {
  const [first, ...later] = grants ?? [];
  if (first === undefined) return [];
  const lapses: { lostMs: number; againMs: number | undefined }[] = [];
  let untilMs = first.untilMs;
  for (const { toldMs, untilMs: next } of later) {
    if (toldMs > untilMs && next > untilMs) lapses.push({ lostMs: untilMs, againMs: toldMs });
    untilMs = Math.max(untilMs, next);
  }
  return [...lapses, { lostMs: untilMs, againMs: undefined }];
}
