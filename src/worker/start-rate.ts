const BUCKET_MS = 25;
const BUCKETS = 4;

/** How many runs were started in the last 100 ms, in steps of 25 ms: what bounds a prefetch (W1). */
export class StartRate {
  readonly #counts = new Float64Array(BUCKETS);
  #bucket = 0;

  add(nowMs: number): void {
    this.#moveTo(nowMs);
    const i = this.#bucket % BUCKETS;
    this.#counts[i] = (this.#counts[i] as number) + 1;
  }

  recent(nowMs: number): number {
    this.#moveTo(nowMs);
    let sum = 0;
    for (const count of this.#counts) sum += count;
    return sum;
  }

  #moveTo(nowMs: number): void {
    const bucket = Math.floor(nowMs / BUCKET_MS);
    const steps = Math.min(bucket - this.#bucket, BUCKETS);
    for (let i = 0; i < steps; i++) this.#counts[(bucket - i) % BUCKETS] = 0;
    if (bucket > this.#bucket) this.#bucket = bucket;
  }
}
