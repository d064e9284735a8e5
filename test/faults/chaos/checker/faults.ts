/** What the nemesis did, as stretches of time. */

import type { HistoryEvent, RunRecord } from "../record.ts";

export type FaultKind =
  | "freeze"
  | "kill"
  | "block"
  | "partition"
  | "clock"
  | "store" // it was paused, crashed, cut off, or slow
  | "failover"
  | "stop"
  | "other"; // also what cuts off from all but the store;

export interface Fault {
  readonly name: string;
  readonly kind: FaultKind;
  /** Undefined: everybody. */
  readonly target: string | undefined;
  readonly fromMs: number;
  readonly toMs: number;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** By the beginning of a fault's name, the longer ones first where one begins another. */
const KINDS: readonly (readonly [prefix: RegExp, kind: FaultKind])[] = [
  [/^writer frozen/, "freeze"],
  [/^writer killed/, "kill"],
  [/^(store|backend|postmaster|writer|disk|pooler)/, "store"],
  [/^(freeze|pause|stop itself)/, "freeze"],
  [/^(kill|terminate)/, "kill"],
  [/^block/, "block"],
  [/^partition from the (destination|listener)/, "other"],
  [/^(partition|cut|hold|reset|replies|requests|link|slow|listener)/, "partition"],
  [/^clock/, "clock"],
  [/^(failover|promot)/, "failover"],
  [/^(stop|deploy|shut)/, "stop"],
];

function kindOf(name: string, target: string | undefined): FaultKind {
  const kind = KINDS.find(([prefix]) => prefix.test(name))?.[1] ?? "other";
  return target === "store" && (kind === "freeze" || kind === "kill" || kind === "partition")
    ? "store"
    : kind;
}

export function faultsOf({ history, endedAtMs }: Pick<RunRecord, "history" | "endedAtMs">): Fault[] {
  const faults: (Fault & { toMs: number })[] = [];
  const open: { event: HistoryEvent; fault: (typeof faults)[number] }[] = [];
  for (const event of history) {
    if (event.process !== "nemesis") continue;
    if (event.kind === "invoke") {
      const { op: name, target, atMs: fromMs, detail = {} } = event;
      const fault = { name, kind: kindOf(name, target), target, fromMs, toMs: endedAtMs, detail };
      faults.push(fault);
      open.push({ event, fault });
    } else if (event.kind !== "note") {
      const index = open.findIndex(({ event: begun }) => isSame(begun, event));
      const [ended] = index < 0 ? [] : open.splice(index, 1);
      if (ended === undefined) continue;
      ended.fault.toMs = event.atMs;
      Object.assign(ended.fault, { detail: { ...ended.fault.detail, ...event.detail } });
    }
  }
  return faults;
}

function isSame(one: HistoryEvent, other: HistoryEvent): boolean {
  if (one.op !== other.op) return false;
  if (other.request !== undefined) return one.request === other.request;
  return one.target === other.target;
}

/** A file has no clock: there each process's own is the store's (T1). */
export function isOfStoresClock({ kind, target }: Fault, store: string): boolean {
  return kind === "clock" && (store.startsWith("sqlite") || !/^(worker|client|dest)/.test(target ?? ""));
}

/** By how much the store's clock was set back, each setting once, ms: when what was ahead is set right, or what is right is set off. */
export function stepsOf(faults: readonly Fault[], store: string): number[] {
  const offsets = faults
    .filter((fault) => isOfStoresClock(fault, store))
    .map(({ detail }) => Number(detail["offsetMs"]));
  return [...new Set(offsets.map(Math.abs))];
}

/** Whether a fault befalls this process, or everybody. */
export function strikes({ kind, target }: Fault, process: string): boolean {
  if (target === undefined || target === process || target === "all") return true;
  return kind === "store" || kind === "failover" || (kind === "clock" && target === "store");
}

/** Faults that stop the process itself between two of its instructions. */
export function standsStill({ kind, target }: Fault, process: string): boolean {
  return (kind === "freeze" || kind === "block" || kind === "kill") && target === process;
}

/** The system waits so long before it says again what was lost at the first attempt to connect, ms. */
const SAID_AGAIN_MS = 1_000;

/** A cut is felt for longer than it lasts: what was lost is said again after ever longer waits, each as long as all before. */
export function felt(fault: Fault): Fault {
  if (fault.kind !== "partition") return fault;
  return { ...fault, toMs: fault.toMs + Math.max(SAID_AGAIN_MS, fault.toMs - fault.fromMs) };
}

export function overlaps(fault: Pick<Fault, "fromMs" | "toMs">, fromMs: number, toMs: number): boolean {
  return fault.fromMs <= toMs && fault.toMs >= fromMs;
}
