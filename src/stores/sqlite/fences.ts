import type { Fence } from "../../protocol/identity.ts";
import type { Moment } from "./moment.ts";
import type { Statements } from "./statements.ts";

/** What is needed of a job whose fence is current. */
export interface CurrentJob {
  readonly seq: number;
  readonly queue: number;
  readonly leaseUntilMs: number | null;
  readonly cancelRequested: boolean;
  readonly resource: string | null;
  /** Null: its end concerns nobody; else the id of its batch, or 0. */
  readonly tail: number | null;
}

type Found = readonly [
  index: number,
  seq: number,
  queue: number,
  leaseUntil: number | null,
  cancel: number,
  resource: string | null,
  tail: number | null,
];

/** The fences that are current (C5), by their index in the batch. */
export function currentOf(
  statements: Statements,
  fences: readonly Fence[],
  moment: Moment,
): ReadonlyMap<number, CurrentJob> {
  const row = statements.get<{ found: string }>("current", {
    fences: JSON.stringify(fences.map(({ jobId, owner, generation }) => [jobId, owner, generation])),
    epoch_start: moment.epochStart,
  });
  const found = JSON.parse(row?.found ?? "[]") as Found[];
  return new Map(
    found.map(([index, seq, queue, leaseUntilMs, cancel, resource, tail]) => [
      index,
      { seq, queue, leaseUntilMs, cancelRequested: cancel === 1, resource, tail },
    ]),
  );
}
