/** Renewals without an answer for which their worker has not asked again yet. */
export class FailedRenewals {
  /** By run, as `runName` names it: the true time, ms, at which its worker knew. */
  readonly #failedAtMs = new Map<string, number>();

  sent(runs: readonly string[]): void {
    for (const run of runs) this.#failedAtMs.delete(run);
  }

  failed(runs: readonly string[], nowMs: number): void {
    for (const run of runs) this.#failedAtMs.set(run, nowMs);
  }

  failedAtMs(run: string): number | undefined {
    return this.#failedAtMs.get(run);
  }
}
