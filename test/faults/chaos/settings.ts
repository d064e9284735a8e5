/** The lengths of time of all runs, ms: short leases, so that much happens in little time. */
export const SETTINGS = {
  leaseMs: 400,
  pollMs: 50,
  sweepMs: 200,
  /** The default for a lease of this length (T2). */
  marginMs: 50,
  /** A call to the store is given up after it. */
  callTimeoutMs: 1_500,
  /** For handlers, after SIGTERM. */
  graceMs: 600,
} as const;

export const WORKERS = 4;
/** Handlers at once in each worker. */
export const CONCURRENCY = 3;
