import { describe, expect, it } from "vitest";
import { manualWorld } from "../../../src/clock/manual.ts";
import { InvalidTransactionError, StoreBusyError } from "../../../src/errors.ts";
import { memory } from "../../../src/stores/memory/index.ts";
import { newHistoryJob } from "../../support/histories.ts";
import { ID } from "../../support/records.ts";

const OPTIONS = { timeoutMs: 1_000 };
const job = newHistoryJob(ID, "letters", null);

describe("a transaction on the memory store", () => {
  it("makes other writers wait, in their order, and readers see what was before", async () => {
    const store = memory();
    const order: string[] = [];
    const tx = await store.begin(OPTIONS);
    const waiting = [
      store.pause("a", true, OPTIONS).then(() => order.push("first")),
      store.pause("a", false, OPTIONS).then(() => order.push("second")),
    ];
    await store.enqueue([job], { ...OPTIONS, tx });
    expect(await store.get([ID])).toEqual([undefined]);
    await tx.commit();
    order.push("committed");
    await Promise.all(waiting);
    expect(order).toEqual(["committed", "first", "second"]);
    expect((await store.get([ID]))[0]?.state).toBe("ready");
  });

  it("gives a writer up at its own deadline, with nothing written, and lets those behind it go on", async () => {
    const { timers, advance } = manualWorld();
    const store = memory({ timers });
    const tx = await store.begin(OPTIONS);
    const short = store.enqueue([job], { timeoutMs: 100 });
    const long = store.pause("a", true, { timeoutMs: 10_000 });
    const refused = expect(short).rejects.toThrow(StoreBusyError);
    await advance(101);
    await refused;
    await tx.rollback();
    await long;
    expect(await store.get([ID])).toEqual([undefined]);
    expect((await store.counts())[0]?.paused).toBe(true);
  });

  it("is committed when its body resolves, and rolled back when it rejects", async () => {
    const store = memory();
    const broken = new Error("no");
    const failing = store.transaction(async (tx) => {
      await tx.query("put", ["a", 1]);
      throw broken;
    }, OPTIONS);
    await expect(failing).rejects.toBe(broken);
    expect(store.value("a")).toBeUndefined();
    const answer = await store.transaction(async (tx) => {
      await tx.query("put", ["a", 2]);
      return tx.query("get", ["a"]);
    }, OPTIONS);
    expect(answer.rows).toEqual([{ key: "a", value: 2 }]);
    expect(store.value("a")).toBe(2);
  });

  it("knows `put` and `get` only, and says so", async () => {
    const store = memory();
    const select = store.transaction((tx) => tx.query("select 1"), OPTIONS);
    await expect(select).rejects.toThrow(InvalidTransactionError);
    await expect(select).rejects.toThrow("It has no SQL");
  });

  it("refuses whatever comes after its end, but a second rollback", async () => {
    const store = memory();
    const tx = await store.begin(OPTIONS);
    await tx.commit();
    await tx.rollback();
    await expect(tx.query("put", ["a", 1])).rejects.toThrow(InvalidTransactionError);
    await expect(tx.commit()).rejects.toThrow(InvalidTransactionError);
  });
});

describe("a listener of the memory store", () => {
  it("is told once per arming, and no more once it is closed", async () => {
    const store = memory();
    let wakes = 0;
    const listener = store.listen(() => {
      wakes += 1;
    });
    await store.pause("a", true, OPTIONS);
    expect(wakes).toBe(0);
    listener.arm();
    await store.pause("a", false, OPTIONS);
    await store.pause("a", true, OPTIONS);
    expect(wakes).toBe(1);
    listener.arm();
    listener.close();
    await store.pause("a", false, OPTIONS);
    expect(wakes).toBe(1);
  });
});
