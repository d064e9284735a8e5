import { validate, version } from "uuid";
import { describe, expect, it } from "vitest";
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

  it("does not fire a timer early that is longer than Node's own can be", async () => {
    const { timers } = systemWorld();
    let fired = false;
    const timer = timers.after(2 ** 31 + 10_000, () => {
      fired = true;
    });
    await new Promise<void>((resolve) => timers.after(20, resolve));
    expect(fired).toBe(false);
    timer.cancel();
    timer.cancel();
  });
});
