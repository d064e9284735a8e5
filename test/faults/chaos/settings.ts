/** The lengths of time of a run, ms: short leases, so that much happens in little time. */
export interface Settings {
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly sweepMs: number;
  /** The default for a lease of this length (T2). */
  readonly marginMs: number;
  /** A call to the store is given up after it. */
  readonly callTimeoutMs: number;
  /** For handlers, after SIGTERM. */
  readonly graceMs: number;
}

export const SWEEP_MS = 200;
export const WORKERS = 4;
/** Handlers at once in each worker. */
export const CONCURRENCY = 4;

const LEASE_MS = 400;
/** As long as a process with everything that it imports takes to start where nothing else goes on, ms, and some. */
const STARTS_IN_MS = 600;
const SLOWEST = 4;

/**
 * What a machine is too busy for within a lease shows nothing but that. So where processes take longer to start than on a
 * quiet one, leases are longer, and all else with them.
 */
export function settingsFor(startedInMs: number): Settings {
  const pace = Math.min(Math.max(1, startedInMs / STARTS_IN_MS), SLOWEST);
  const leaseMs = Math.round(LEASE_MS * pace);
  return {
    leaseMs,
    pollMs: 50,
    sweepMs: SWEEP_MS,
    marginMs: Math.max(leaseMs / 10, 50),
    callTimeoutMs: Math.round(CALL_LIMIT_MS * pace),
    graceMs: Math.round(600 * pace),
  };
}

/** After SIGTERM a worker has so long, ms; then it hangs, and is ended as a finding. */
export const STOPS_WITHIN_MS = 15_000;

/** So long a call is waited for, ms; on a machine that is slow, in proportion longer. */
export const CALL_LIMIT_MS = 1_500;
