import type { Clock } from "../clock/world.ts";
import { printable } from "../printable.ts";

export interface LogEntry {
  readonly level: "info" | "warning" | "error";
  /** What it is about, for filters: `store_unreachable`, `stuck`, `renewal_inline` … */
  readonly kind: string;
  readonly message: string;
  readonly error?: unknown;
}

export type Log = (entry: LogEntry) => void;

const QUIET_MS = 1_000;

/**
 * At most one line a second of each kind; the next one tells how many were left out. A `log` that throws is ignored:
 * it must not stop the work that it reports.
 */
export function limited(log: Log, clock: Clock): Log {
  const kinds = new Map<string, { lastMs: number; left: number }>();
  return (entry) => {
    const nowMs = clock.monotonicMs();
    const seen = kinds.get(entry.kind);
    if (seen !== undefined && nowMs - seen.lastMs < QUIET_MS) {
      seen.left++;
      return;
    }
    const left = seen?.left ?? 0;
    kinds.set(entry.kind, { lastMs: nowMs, left: 0 });
    try {
      log(left === 0 ? entry : { ...entry, message: `${entry.message} (and ${left} more like it)` });
    } catch {}
  };
}

/** Warnings and errors to stderr, a line each. */
export function stderrLog({ level, kind, message, error }: LogEntry): void {
  if (level === "info") return;
  const cause =
    error instanceof Error ? `: ${error.message}` : error === undefined ? "" : `: ${String(error)}`;
  process.stderr.write(printable(`leasehold ${level} (${kind}): ${message}${cause}\n`));
}
