import type { Fence } from "../../src/protocol/identity.ts";

/** Renewals without an answer for which their worker has not asked again yet. */
export class FailedRenewals {
  /** By run: the true time, ms, at which its worker knew. */
  readonly #failedAtMs = new Map<string, number>();

  sent(fences: readonly Fence[]): void {
    for (const fence of fences) this.#failedAtMs.delete(nameOf(fence));
  }

  failed(fences: readonly Fence[], nowMs: number): void {
    for (const fence of fences) this.#failedAtMs.set(nameOf(fence), nowMs);
  }

  failedAtMs(fence: Fence): number | undefined {
    return this.#failedAtMs.get(nameOf(fence));
  }
}

function nameOf({ jobId, owner, generation }: Fence): string {
  return `${jobId} ${owner} ${generation}`;
}
