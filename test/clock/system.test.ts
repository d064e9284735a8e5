import { validate, version } from "uuid";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemWorld } from "../../src/clock/system.ts";

describe("the system world", () => {
  it("makes job ids that are version 7 UUIDs of this moment, and never the same one twice", () => {
    const { ids } = systemWorld();
    const made = new Set(Array.from({ length: 20_000 }, () => ids.jobId()));
    expect(made.size).toBe(20_000);
    const [id] = made;
    expect(validate(id) && version(id!)).toBe(7);
    expect(Math.abs(Number.parseInt(id!.replaceAll("-", "").slice(0, 12), 16) - Date.now())).toBeLessThan(
      60_000,
    );
  });

  it("makes owners that are random and name nobody", () => {
    const { ids } = systemWorld();
    const owners = new Set(Array.from({ length: 1_000 }, () => ids.owner()));
    expect(owners.size).toBe(1_000);
    for (const owner of owners) expect(owner).toMatch(/^[\w-]{16}$/);
  });

  it.each([
    ["a bit longer than Node's own can be", 2 ** 31 + 10_000],
    ["25 days long", 25 * 86_400_000],
    ["100 years long", 100 * 365 * 86_400_000],
    ["without an end", Number.POSITIVE_INFINITY],
  ])("does not fire a timer early that is %s, and Node warns of none", async (_what, ms) => {
    const { timers } = systemWorld();
    const warned: unknown[] = [];
    const hear = (warning: unknown): void => void warned.push(warning);
    process.on("warning", hear);
    onTestFinished(() => void process.off("warning", hear));
    let fired = false;
    const timer = timers.after(ms, () => {
      fired = true;
    });
    await new Promise<void>((resolve) => timers.after(20, resolve));
    expect(fired).toBe(false);
    expect(warned).toEqual([]);
    timer.cancel();
    timer.cancel();
  });
});
