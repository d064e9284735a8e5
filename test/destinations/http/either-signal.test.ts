import { getEventListeners, once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { eitherSignal } from "../../../src/destinations/http/either-signal.ts";

describe("a signal for either of several", () => {
  it("fires with the reason of the first, and is then no listener of the others", () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const { signal } = eitherSignal([one.signal, other.signal]);
    expect(signal.aborted).toBe(false);
    other.abort("the other");
    expect(signal.reason).toBe("the other");
    one.abort("too late");
    expect(signal.reason).toBe("the other");
    expect(getEventListeners(one.signal, "abort")).toEqual([]);
  });

  it("has fired from the start where one of them has", () => {
    expect(eitherSignal([new AbortController().signal, AbortSignal.abort("before")]).signal.reason).toBe(
      "before",
    );
  });

  it("fires no more when it is released", () => {
    const one = new AbortController();
    const { signal, release } = eitherSignal([one.signal]);
    release();
    one.abort();
    expect(signal.aborted).toBe(false);
    expect(getEventListeners(one.signal, "abort")).toEqual([]);
  });

  it("fires at a time limit that nobody else keeps", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const limited = (): AbortSignal =>
      eitherSignal([new AbortController().signal, AbortSignal.timeout(200)]).signal;
    const signal = limited();
    const fired = once(signal, "abort");
    const collecting = setInterval(collectGarbage, 10);
    const late = new Promise((resolve) => setTimeout(resolve, 3_000, "not at all"));
    expect(await Promise.race([fired.then(() => "in time"), late])).toBe("in time");
    clearInterval(collecting);
  });
});
