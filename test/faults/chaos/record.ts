/**
 * What is known of one run under faults, from three sides: what each process did and was told (its history), what the store
 * did (the audit, written by triggers in the transaction of each change), and what the destinations decided (written in the
 * transaction that decides). The checker reads nothing else.
 */

/** `info`: the outcome is unknown to whoever called. `note`: something that is no call. */
export type EventKind = "invoke" | "ok" | "fail" | "info" | "note";

/** One line of a process's history, appended by one synchronous write, so that a SIGKILL loses at most the last. */
export interface HistoryEvent {
  /** CLOCK_MONOTONIC, ms: the same for every process of the machine, and never faked. */
  readonly atMs: number;
  /** "worker 2", "client", "destination", "nemesis". */
  readonly process: string;
  /** Counts restarts of that process; from 1. */
  readonly incarnation: number;
  readonly kind: EventKind;
  /**
   * Calls: "enqueue", "claim", "renew", "settle", "write" (an effect), "cancel", "revoke", "retry"; a call's events share `request`.
   * Notes: "handler began", "handler ended", "aborted", "check" (the deadline check said yes), "loop delay", "stopping", "unhandled",
   * "exit". A "loop delay" is written at the end of each one that was long, so that no time of it is missed. Of the nemesis: the fault's name; `invoke` when it begins, `ok` when it has ended.
   */
  readonly op: string;
  /** Unique within the process's incarnation; the reply carries its call's. */
  readonly request?: number;
  readonly job?: string;
  readonly line?: string;
  /**
   * On `line`: renewals, settlings and notes about runs are of the job's own fence; answers of claims, checks and effects
   * carry the token, which is on a resource's line where the run has one, and `detail.jobGeneration`.
   */
  readonly generation?: number;
  readonly owner?: string;
  /** Of an effect: (job, run, step) as the destination keys it. */
  readonly key?: string;
  readonly destination?: string;
  /** Of a settle: "complete", "fail", "release"; of its answer: "applied", "already", "stale", "gone", "busy". */
  readonly outcome?: string;
  /** Of a nemesis: which process it befalls; "store", "destination"; none: all of them. */
  readonly target?: string;
  /**
   * Whatever else helps who reads it: error, reason, durations in ms. What is judged: of "loop delay" `ms` and `thread`; of "exit" see
   * `ExitDetail`; of "statement" `parameters`, what of the values that were sent to the store could be a time; of a claim's answer
   * `jobGeneration`, where the token is of a resource's line; of any note `wallMs`, the machine's clock; of the nemesis `offsetMs` (clock), `aimed`,
   * and of a failover `mode` ("async" or "sync"), `lostAfterMs` (monotonic: what was acknowledged before is on the standby)
   * and `waitsCancelled`.
   */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** What a process tells of itself at its end, in the `detail` of its "exit". */
export interface ExitDetail {
  /** 0 unless it failed. */
  readonly code?: number;
  /** What is open after everything was closed, by kind, and what was open before anything began: timers, sockets, listeners, pool clients. */
  readonly handles?: Readonly<Record<string, number>>;
  readonly handlesAtStart?: Readonly<Record<string, number>>;
  readonly rssMb?: number;
  readonly rssAtStartMb?: number;
  /** How many jobs it has run between the two. */
  readonly jobs?: number;
}

/** One change of a live job's row, or a job's arrival in the history, in the store's serial order. */
export interface AuditEntry {
  readonly seq: number;
  readonly job: string;
  /** As the store has the row, times in ms; null before the enqueue. */
  readonly was: Readonly<Record<string, unknown>> | null;
  /** Null: the row has left the live jobs. */
  readonly is: Readonly<Record<string, unknown>> | null;
  /** The row of the history that the job ended with, whole; else null. */
  readonly ended: Readonly<Record<string, unknown>> | null;
  /** The store's clock in that transaction, ms since 1970. */
  readonly storeMs: number;
  readonly epoch: number;
  /** PostgreSQL: the timeline; SQLite: 0. */
  readonly timeline: number;
  /** The other half of the floor, where the workload deletes jobs. */
  readonly deletedGeneration?: number;
}

/** What a destination decided about one effect, in the destination's own order. */
export interface DestinationEntry {
  readonly seq: number;
  /** "database", "http", "blind". */
  readonly destination: string;
  /** CLOCK_MONOTONIC where a process of ours decided; null where a database did. */
  readonly atMs: number | null;
  readonly decision: "applied" | "duplicate" | "stale";
  readonly line: string;
  readonly job: string;
  readonly key: string;
  readonly generation: number;
  readonly owner: string;
  /** What was answered: a duplicate's are the first one's bytes. */
  readonly answer: string;
}

/** A schedule of the workload; all jobs named `jobName` are its slots'. */
export interface ScheduleOfRun {
  readonly name: string;
  readonly jobName: string;
  readonly timing: { readonly cron: string; readonly zone: string } | { readonly everyMs: number };
  /** Store time, ms: slots after the first and up to the second are due. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Everything the checker and the report are made of; kept as files in one folder a run. */
export interface RunRecord {
  readonly plan: string;
  readonly seed: number;
  readonly store: string;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly sweepMs: number;
  readonly marginMs: number;
  readonly maxBackoffMs: number;
  readonly seconds: number;
  readonly history: readonly HistoryEvent[];
  readonly audit: readonly AuditEntry[];
  readonly decisions: readonly DestinationEntry[];
  /** Monotonic time at which the last fault had ended, and at which the run was over. */
  readonly healedAtMs: number;
  readonly endedAtMs: number;
  /** Faults of this plan, each of which has to be used at least three times. */
  readonly nemeses: readonly string[];
  /** Parts that could not run here, with the reason; not passed. */
  readonly skipped: readonly string[];
  /** The machine's wall clock less CLOCK_MONOTONIC, ms; without it the checker works it out from the answers. */
  readonly wallAheadMs?: number;
  /** What an old primary had committed and the promoted one has not; read from the old one after the failover. */
  readonly lost?: readonly AuditEntry[];
  readonly schedules?: readonly ScheduleOfRun[];
  /** Floors of this plan where they differ from the list: a part of the whole cannot see everything. */
  readonly floors?: Readonly<Record<string, number>>;
  /** For the report's head: "commit 1a2b3c4  node 20.20.2  pg 15.18". */
  readonly versions?: string;
}
