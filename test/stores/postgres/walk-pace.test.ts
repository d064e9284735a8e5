/** From where claims look, and how often from the beginning: no server, since it is all a matter of what a look takes. */

import { describe, expect, it } from "vitest";
import type { JobRecord } from "../../../src/protocol/job.ts";
import { Hints } from "../../../src/stores/postgres/hints.ts";
import { WalkPace } from "../../../src/stores/postgres/walk-pace.ts";

const EVERY_MS = 200;
const QUEUE = ["q"];

/** Claims by hints whose walks take `walkMs` and whose other looks take `claimMs`, with a job each. */
class Claims {
  nowMs = 0;
  walkMs: number;
  claimMs: number;
  readonly hints: Hints;
  #seq = 0;

  constructor({ walkMs = 1, claimMs = 1, everyMs = EVERY_MS } = {}) {
    this.walkMs = walkMs;
    this.claimMs = claimMs;
    const clock = { monotonicMs: () => this.nowMs, wallMs: () => this.nowMs };
    this.hints = new Hints(clock, new WalkPace(everyMs));
  }

  async claim(fromTheBeginning = false) {
    const starts = this.hints.startsOf(QUEUE, fromTheBeginning);
    const tookMs = starts.isWalk ? this.walkMs : this.claimMs;
    await Promise.resolve();
    this.nowMs += tookMs;
    this.hints.noteLook(starts.isWalk, tookMs);
    this.hints.note([{ queue: "q", priority: 0, seq: ++this.#seq } as JobRecord]);
    return starts;
  }

  /** What share of so much time walks take. */
  async shareOf(ms: number): Promise<number> {
    const endMs = this.nowMs + ms;
    let walkedMs = 0;
    while (this.nowMs < endMs) if ((await this.claim()).isWalk) walkedMs += this.walkMs;
    return walkedMs / ms;
  }
}

describe("a claim on PostgreSQL", () => {
  it("begins behind the last one's jobs, and at the beginning each `everyMs` (C15)", async () => {
    const claims = new Claims();
    expect(await claims.claim()).toMatchObject({ isWalk: true, asked: [{ queue: "q", seq: 0 }] });
    expect(await claims.claim()).toMatchObject({ isWalk: false, asked: [{ queue: "q", seq: 1 }] });
    claims.nowMs = EVERY_MS - 1;
    expect((await claims.claim()).isWalk).toBe(false);
    expect((await claims.claim()).isWalk).toBe(true);
    expect((await claims.claim()).isWalk).toBe(false);
  });

  it("begins there at once when something has come that may stand in front, also while a claim was under way", async () => {
    const claims = new Claims();
    await claims.claim();
    const under = claims.claim();
    claims.hints.forget();
    await under;
    expect((await claims.claim()).isWalk).toBe(true);
    expect((await claims.claim()).isWalk).toBe(false);
    expect((await claims.claim(true)).isWalk).toBe(true);
  });

  it.each([0, 5, 10])("walks each `everyMs` where that costs %d ms more than a claim", async (extraMs) => {
    const claims = new Claims({ walkMs: 1 + extraMs });
    await claims.shareOf(1_000);
    for (let n = 0; n < 5; n++) {
      while (!(await claims.claim()).isWalk);
      const beganMs = claims.nowMs - claims.walkMs;
      while (!(await claims.claim()).isWalk);
      expect(claims.nowMs - claims.walkMs - beganMs).toBeLessThanOrEqual(EVERY_MS + 1);
    }
  });

  it.each([50, 250, 1_000])("gives walks of %d ms about a twentieth of the time", async (walkMs) => {
    const claims = new Claims({ walkMs });
    await claims.shareOf(walkMs * 3);
    const share = await claims.shareOf(walkMs * 200);
    expect(share).toBeLessThan(0.06);
    expect(share).toBeGreaterThan(0.04);
  });

  it("says when it may walk, where it is due and may not yet", async () => {
    const claims = new Claims();
    await claims.shareOf(2 * EVERY_MS);
    claims.walkMs = 251;
    for (let walks = 0; walks < 2; ) if ((await claims.claim()).isWalk) walks++;
    claims.hints.forget();
    const { isWalk, walkInMs } = await claims.claim();
    expect({ isWalk, walkInMs }).toEqual({ isWalk: false, walkInMs: 250 * 19 });
    claims.nowMs += 250 * 19;
    expect(await claims.claim()).toMatchObject({ isWalk: true, walkInMs: undefined });
  });

  it("takes neither one hiccup nor a slow server for a long line, and walks as before once that is short", async () => {
    const claims = new Claims();
    claims.walkMs = 500;
    await claims.claim();
    claims.walkMs = 1;
    await claims.shareOf(250);
    claims.hints.forget();
    expect((await claims.claim()).isWalk).toBe(true);
    const slow = new Claims({ walkMs: 300, claimMs: 300 });
    for (let n = 0; n < 60; n++) await slow.claim();
    slow.hints.forget();
    expect((await slow.claim()).isWalk).toBe(true);
    const long = new Claims({ walkMs: 400 });
    await long.shareOf(10_000);
    long.walkMs = 2;
    await long.shareOf(10_000);
    long.hints.forget();
    expect((await long.claim()).isWalk).toBe(true);
  });

  it("walks each time where the interval is 0, whatever that takes", async () => {
    const claims = new Claims({ walkMs: 1_000, everyMs: 0 });
    for (let n = 0; n < 5; n++) expect((await claims.claim()).isWalk).toBe(true);
  });
});
