import { describe, expect, it } from "vitest";
import { manualWorld } from "../../src/clock/manual.ts";

describe("a manual world", () => {
  it("stands still until it is moved", async () => {
    const { clock, settle } = manualWorld();
    const before = [clock.monotonicMs(), clock.wallMs()];
    await settle();
    expect([clock.monotonicMs(), clock.wallMs()]).toEqual(before);
  });

  it("fires timers in the order in which they are due, at their time, and those they start as well", async () => {
    const { clock, timers, advance } = manualWorld({ monotonicMs: 0 });
    const log: string[] = [];
    const note = (what: string) => () => void log.push(`${what}@${clock.monotonicMs()}`);
    timers.after(30, note("c"));
    timers.after(10, () => {
      note("a")();
      timers.after(5, note("b"));
    });
    timers.after(10, note("a2"));
    await advance(29);
    expect(log).toEqual(["a@10", "a2@10", "b@15"]);
    await advance(1);
    expect(log.at(-1)).toBe("c@30");
  });

  it("lets promises and turns that a timer set off run to their end before the next timer", async () => {
    const { timers, advance } = manualWorld();
    const log: string[] = [];
    timers.after(1, async () => {
      await Promise.resolve();
      timers.nextTurn(async () => {
        await null;
        log.push("first, to its end");
      });
    });
    timers.after(2, () => log.push("second"));
    await advance(2);
    expect(log).toEqual(["first, to its end", "second"]);
  });

  it("cancels timers, twice too, and wakes sleepers by signal without leaving a timer", async () => {
    const world = manualWorld();
    const timer = world.timers.after(1, () => expect.unreachable());
    timer.cancel();
    timer.cancel();
    const over = new AbortController();
    const sleeping = world.timers.sleep(1e12, over.signal);
    expect(world.pendingTimers).toBe(1);
    over.abort();
    await sleeping;
    await world.advance(10);
    expect(world.pendingTimers).toBe(0);
  });

  it("moves its two clocks together, or each alone", async () => {
    const { clock, advance, stepWall, stepMonotonic, block } = manualWorld({ wallMs: 1_000, monotonicMs: 0 });
    await advance(5);
    block(5);
    stepWall(-500);
    stepMonotonic(90);
    expect([clock.monotonicMs(), clock.wallMs()]).toEqual([100, 510]);
    expect(() => stepMonotonic(-1)).toThrow(RangeError);
  });

  it("frozen, lets time pass and runs nothing; thawed, runs late what fell due", async () => {
    const { timers, clock, advance, freeze, thaw } = manualWorld({ monotonicMs: 0 });
    const fired: number[] = [];
    timers.after(10, () => fired.push(clock.monotonicMs()));
    freeze();
    timers.nextTurn(() => fired.push(-1));
    await advance(1_000);
    expect(fired).toEqual([]);
    thaw();
    await advance(0);
    expect(fired.toSorted()).toEqual([-1, 1_000]);
  });

  it("draws the same ids and numbers for the same seed, others for another", () => {
    const draw = (seed: number) => {
      const { ids, random } = manualWorld({ seed });
      return [ids.jobId(), ids.owner(), random.next(), ids.jobId()];
    };
    expect(draw(7)).toEqual(draw(7));
    expect(new Set([...draw(7), ...draw(8)]).size).toBe(8);
  });

  it("calls the test's faults at the points that the code reaches, until they are taken back", () => {
    const { at, reached } = manualWorld();
    let times = 0;
    const undo = at("in-renewal", () => times++);
    reached("in-renewal");
    reached("in-shutdown");
    undo();
    reached("in-renewal");
    expect(times).toBe(1);
  });

  it("says so when the code under test spins", async () => {
    const { timers, settle } = manualWorld();
    let stop = false;
    const spin = (): void => {
      if (!stop) timers.nextTurn(spin);
    };
    spin();
    await expect(settle()).rejects.toThrow("something spins");
    stop = true;
  });
});
