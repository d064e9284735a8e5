/** Of the time, what looks at the line from its beginning may take at most: one part in so many. */
const SHARE = 20;
/** What a claim is taken for before one was made from the hint, ms. */
const USUAL_MS = 10;
/** How much of what is usual each further claim makes up. */
const WEIGHT = 1 / 8;

/**
 * How often the line may be looked at from its beginning. That costs nothing where few rows are leased and dead ones are
 * cleaned away. Under somebody's long transaction none is, and the walk over a million of them takes a quarter of a second: made
 * each `everyMs`, it would take more of the time than the claims. So behind a walk that took long comes a rest, in which claims go
 * on from the hint. Until it is over, C15 is not kept: what takes its place in front is overtaken for that much longer.
 *
 * Long is what the server says that a walk took, without the wait for its commit or for the network, above a claim from the
 * hint; and what two walks in turn took.
 */
export class WalkPace {
  readonly everyMs: number;
  #usualMs: number | undefined;
  #lastMs = 0;
  #costMs = 0;

  /** @param everyMs 0: before each claim, whatever it costs */
  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  /** How long after one walk the next may begin, ms. */
  get restMs(): number {
    return this.everyMs === 0 ? 0 : this.#costMs * (SHARE - 1);
  }

  /** How long after one walk the next is wanted, ms. */
  get intervalMs(): number {
    return Math.max(this.everyMs, this.restMs);
  }

  /** A claim from the hint has taken so long. */
  noteClaim(tookMs: number): void {
    const usualMs = this.#usualMs ?? tookMs;
    this.#usualMs = usualMs + (tookMs - usualMs) * WEIGHT;
  }

  /** A claim from the beginning has taken so long. */
  noteWalk(tookMs: number): void {
    const extraMs = Math.max(0, tookMs - (this.#usualMs ?? USUAL_MS));
    this.#costMs = Math.min(extraMs, this.#lastMs);
    this.#lastMs = extraMs;
  }
}
