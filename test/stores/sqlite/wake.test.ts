import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { CALL, newJob, storeOn, temporaryFolder } from "./world.ts";

/** Two stores on one file stand for two processes: they share nothing but the file. */
async function sleeperAndCaller() {
  const path = join(temporaryFolder(), "jobs.db");
  const sleeper = storeOn(path);
  const caller = storeOn(path);
  await sleeper.open();
  await caller.open();
  return { path, sleeper, caller };
}

describe("the wake file", () => {
  it("wakes a sleeper in another process after the commit", async () => {
    const { sleeper, caller } = await sleeperAndCaller();
    for (let round = 0; round < 20; round++) {
      let listener: { arm(): void; close(): void } | undefined;
      const woken = new Promise<void>((resolve) => {
        listener = sleeper.listen(resolve);
      });
      listener?.arm();
      await caller.enqueue([newJob()], CALL);
      await woken;
      listener?.close();
    }
  });

  it("does not lose a ring that comes between arming and sleeping", async () => {
    const { sleeper, caller } = await sleeperAndCaller();
    let wakes = 0;
    let wake = (): void => {};
    const listener = sleeper.listen(() => {
      wakes++;
      wake();
    });
    onTestFinished(() => listener.close());
    const next = (): Promise<void> =>
      new Promise((resolve) => {
        wake = resolve;
      });
    for (let round = 0; round < 50; round++) {
      const woken = next();
      listener.arm();
      await caller.enqueue([newJob()], CALL);
      await woken;
    }
    expect(wakes).toBeGreaterThanOrEqual(50);
  });

  it("comes back to life when the file was replaced", async () => {
    const { path, sleeper, caller } = await sleeperAndCaller();
    const replaced = new Promise<void>((resolve) => sleeper.listen(resolve).arm());
    await caller.enqueue([newJob()], CALL);
    await replaced;
    const bell = `${path}-bell`;
    expect(existsSync(bell)).toBe(true);
    writeFileSync(`${bell}.new`, "");
    renameSync(`${bell}.new`, bell);
    // Noticing it is itself a wake-up, since a ring may have been lost meanwhile.
    await new Promise<void>((resolve) => sleeper.listen(resolve).arm());
  });

  it("fails no call when it cannot be made or written: what was committed stays committed", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    mkdirSync(`${path}-bell`);
    const store = storeOn(path);
    expect(await store.enqueue([newJob()], CALL)).toMatchObject([{ outcome: "enqueued" }]);
    const woken = new Promise<void>((resolve) => store.listen(resolve).arm());
    await store.enqueue([newJob()], CALL);
    await woken;
  });

  it("is not written to while nobody sleeps", async () => {
    const { path, caller } = await sleeperAndCaller();
    await caller.enqueue([newJob()], CALL);
    rmSync(`${path}-bell`, { force: true });
    await caller.enqueue([newJob()], CALL);
    expect(existsSync(`${path}-bell`)).toBe(false);
  });
});
