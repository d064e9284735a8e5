import { describe, expect, it } from "vitest";
import { sleepBy } from "../../../src/clock/sleep.ts";
import { systemWorld } from "../../../src/clock/system.ts";
import type { Timer, World } from "../../../src/clock/world.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { CALL, newJob, storeOn, worldOf } from "./world.ts";

/** Those of them for which no process waits. */
const background = new WeakSet<Timer>();

/** The world as it is, and the timers in it that have neither fired nor been cancelled. */
function watchedWorld(): { readonly world: World; readonly pending: ReadonlySet<Timer> } {
  const system = systemWorld();
  const pending = new Set<Timer>();
  const after: World["timers"]["after"] = (delayMs, fn, options) => {
    const inner = system.timers.after(
      delayMs,
      () => {
        pending.delete(timer);
        fn();
      },
      options,
    );
    const timer: Timer = {
      cancel() {
        pending.delete(timer);
        inner.cancel();
      },
    };
    pending.add(timer);
    if (options?.background) background.add(timer);
    return timer;
  };
  const timers = { nextTurn: system.timers.nextTurn, after, sleep: sleepBy(after) };
  return { world: { ...system, timers }, pending };
}

function sockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
}

optional("closing a store on PostgreSQL 18", missingPostgres(18), () => {
  describe("a store that is closed", () => {
    it("leaves no timer behind that its process would wait for", async () => {
      const { world, pending } = watchedWorld();
      const store = storeOn(await worldOf(18), { world });
      await store.enqueue([newJob()], CALL);
      await store.close();
      // Each of them would go on for longer than this waits.
      await eventually("no timer is left", () => pending.size === 0, 1_500);
    });

    it("does not finish the pause between two notifications, for which its process would wait", async () => {
      const { world, pending } = watchedWorld();
      const store = storeOn(await worldOf(18), { world });
      for (let n = 0; n < 3; n++) await store.enqueue([newJob()], CALL); // those after the first are told aside
      await store.close();
      await new Promise((resolve) => setImmediate(resolve));
      expect([...pending].filter((timer) => !background.has(timer))).toEqual([]);
    });

    it("has no connection left when closing is done", async () => {
      const store = storeOn(await worldOf(18));
      const before = sockets();
      await store.enqueue([newJob()], CALL);
      const woken = new Promise<void>((resolve) => store.listen(resolve).arm());
      await woken; // it listens, on a connection of its own
      expect(sockets()).toBeGreaterThan(before + 1);
      await store.close();
      expect(sockets()).toBe(before);
    });

    it("makes no connection any more to listen on", async () => {
      const store = storeOn(await worldOf(18));
      await store.enqueue([newJob()], CALL);
      const before = sockets();
      store.listen(() => {}).arm();
      await store.close();
      // For as many turns as one would take that was about to be made.
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(sockets()).toBeLessThan(before);
    });
  });
});
