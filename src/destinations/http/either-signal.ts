/** One signal that fires with the first of several, for as long as it is held. */
export interface EitherSignal {
  readonly signal: AbortSignal;
  /** From now on it fires no more, and nothing of it is left with the others. */
  release(): void;
}

/**
 * Not `AbortSignal.any`: that knows the others weakly, so that on Node 20 a signal of `AbortSignal.timeout` which nobody else
 * keeps is collected as garbage, and its time limit never fires.
 */
export function eitherSignal(signals: readonly AbortSignal[]): EitherSignal {
  const either = new AbortController();
  const release = (): void => {
    for (const signal of signals) signal.removeEventListener("abort", fire);
  };
  function fire(this: AbortSignal): void {
    release();
    either.abort(this.reason);
  }
  for (const signal of signals) signal.addEventListener("abort", fire);
  const fired = signals.find(({ aborted }) => aborted);
  if (fired !== undefined) fire.call(fired);
  return { signal: either.signal, release };
}
