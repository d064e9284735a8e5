/**
 * The table that the main loop and a renewer thread share: one slot of 128 bytes for each lease. Registering a lease
 * must cost next to nothing and must be seen at once, also when the handler then blocks the loop; so it is a few stores
 * to shared memory instead of a message.
 *
 * Every field has one writer. The main loop fills a slot and then raises its `version` to an odd number; freed, the
 * version is even. What the thread has renewed counts only for the version that it names, so a slot that was given to
 * another lease meanwhile is never mistaken. Main and thread read one monotonic clock.
 */

export const SLOTS = 4_096;
const SLOT_BYTES = 128;
const ID_BYTES = 36;

// Offsets within a slot, in bytes. Written by the main loop:
const GENERATION = 8; // f64
const LEASE_MS = 16; // f64
const SENT_MONOTONIC = 24; // f64, of the claim
const UNTIL = 32; // f64, monotonic: not to be renewed after this
const JOB_ID = 64; // 36 bytes of latin1
// Written by the thread:
const RENEWED_VERSION = 40; // i32
const STAMP = 44; // i32, odd while the two below are being written
const RENEWED_MONOTONIC = 48; // f64
const RENEWED_WALL = 56; // f64

// In the header. Written by the main loop:
const HEARTBEAT = 0; // f64, monotonic ms
const HIGH_WATER = 8; // i32: slots at and above this were never used
// Written by the thread:
const ASLEEP = 12; // i32: it waits for a message

// Behind the header, an i32 for each slot, odd while held. Side by side: the thread looks at all of them each time.
const VERSIONS = 128;
const FIRST_SLOT = VERSIONS + SLOTS * 4;

/** Both sides' view of one shared table. */
export class SlotTable {
  readonly buffer: SharedArrayBuffer;
  readonly #ints: Int32Array;
  readonly #floats: Float64Array;
  readonly #bytes: Buffer;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(FIRST_SLOT + SLOTS * SLOT_BYTES)) {
    this.buffer = buffer;
    this.#ints = new Int32Array(buffer);
    this.#floats = new Float64Array(buffer);
    this.#bytes = Buffer.from(buffer);
  }

  // --- the main loop's side ---

  /** `id` is a job's; a named lease passes an empty one, and its fence by message. */
  fill(slot: number, id: string, generation: number, leaseMs: number, sentMs: number): void {
    const at = FIRST_SLOT + slot * SLOT_BYTES;
    this.#floats[(at + GENERATION) >> 3] = generation;
    this.#floats[(at + LEASE_MS) >> 3] = leaseMs;
    this.#floats[(at + SENT_MONOTONIC) >> 3] = sentMs;
    this.#floats[(at + UNTIL) >> 3] = Number.POSITIVE_INFINITY;
    if (id !== "") this.#bytes.write(id, at + JOB_ID, ID_BYTES, "latin1");
    const highWater = HIGH_WATER >> 2;
    if (slot >= (this.#ints[highWater] as number)) Atomics.store(this.#ints, highWater, slot + 1);
    Atomics.add(this.#ints, (VERSIONS >> 2) + slot, 1);
  }

  /** The lease in the slot is not to be renewed after this moment of the monotonic clock. */
  limit(slot: number, untilMs: number): void {
    this.#floats[(FIRST_SLOT + slot * SLOT_BYTES + UNTIL) >> 3] = untilMs;
  }

  free(slot: number): void {
    Atomics.add(this.#ints, (VERSIONS >> 2) + slot, 1);
  }

  beat(monotonicMs: number): void {
    this.#floats[HEARTBEAT >> 3] = monotonicMs;
  }

  isAsleep(): boolean {
    return Atomics.load(this.#ints, ASLEEP >> 2) === 1;
  }

  /** When the last answered renewal of what the slot holds now was sent; undefined when there was none. */
  renewed(slot: number): { readonly monotonicMs: number; readonly wallMs: number } | undefined {
    const at = FIRST_SLOT + slot * SLOT_BYTES;
    const version = this.#ints[(VERSIONS >> 2) + slot] as number;
    if (Atomics.load(this.#ints, (at + RENEWED_VERSION) >> 2) !== version) return undefined;
    for (;;) {
      const stamp = Atomics.load(this.#ints, (at + STAMP) >> 2);
      const monotonicMs = this.#floats[(at + RENEWED_MONOTONIC) >> 3] as number;
      const wallMs = this.#floats[(at + RENEWED_WALL) >> 3] as number;
      if ((stamp & 1) === 0 && Atomics.load(this.#ints, (at + STAMP) >> 2) === stamp)
        return { monotonicMs, wallMs };
    }
  }

  // --- the thread's side ---

  heartbeatMs(): number {
    return this.#floats[HEARTBEAT >> 3] as number;
  }

  highWater(): number {
    return Atomics.load(this.#ints, HIGH_WATER >> 2);
  }

  setAsleep(asleep: boolean): void {
    Atomics.store(this.#ints, ASLEEP >> 2, asleep ? 1 : 0);
  }

  /** The version, or one that it had a moment ago: enough to see that nothing has changed since the last look. */
  glance(slot: number): number {
    return this.#ints[(VERSIONS >> 2) + slot] as number;
  }

  /** Odd while a lease is held there. */
  version(slot: number): number {
    return Atomics.load(this.#ints, (VERSIONS >> 2) + slot);
  }

  /** Length and beginning of what the slot holds: all that the thread needs of a lease which ends before its renewal. */
  leaseMs(slot: number): number {
    return this.#floats[(FIRST_SLOT + slot * SLOT_BYTES + LEASE_MS) >> 3] as number;
  }

  sentMs(slot: number): number {
    return this.#floats[(FIRST_SLOT + slot * SLOT_BYTES + SENT_MONOTONIC) >> 3] as number;
  }

  /** What the slot holds; undefined when that changed while it was read. */
  read(slot: number): SlotContent | undefined {
    const at = FIRST_SLOT + slot * SLOT_BYTES;
    const version = this.version(slot);
    if ((version & 1) === 0) return undefined;
    const content = {
      version,
      id: this.#bytes.toString("latin1", at + JOB_ID, at + JOB_ID + ID_BYTES),
      generation: this.#floats[(at + GENERATION) >> 3] as number,
      leaseMs: this.#floats[(at + LEASE_MS) >> 3] as number,
      sentMs: this.#floats[(at + SENT_MONOTONIC) >> 3] as number,
      untilMs: this.#floats[(at + UNTIL) >> 3] as number,
    };
    return this.version(slot) === version ? content : undefined;
  }

  renew(slot: number, version: number, monotonicMs: number, wallMs: number): void {
    const at = FIRST_SLOT + slot * SLOT_BYTES;
    Atomics.add(this.#ints, (at + STAMP) >> 2, 1);
    this.#floats[(at + RENEWED_MONOTONIC) >> 3] = monotonicMs;
    this.#floats[(at + RENEWED_WALL) >> 3] = wallMs;
    Atomics.add(this.#ints, (at + STAMP) >> 2, 1);
    Atomics.store(this.#ints, (at + RENEWED_VERSION) >> 2, version);
  }
}

export interface SlotContent {
  readonly version: number;
  /** A job's id; meaningless for a named lease, whose fence came by message. */
  readonly id: string;
  readonly generation: number;
  readonly leaseMs: number;
  /** When its claim was sent, by the monotonic clock. */
  readonly sentMs: number;
  /** When its renewal must end. */
  readonly untilMs: number;
}
