import assert from "node:assert/strict";
import { ClosedError, SchemaVersionError } from "../../errors.ts";
import { claim, claimedIds, enqueued, newJob, newOwner, nth, OPTIONS, required } from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

export const migrations: Chapter = {
  name: "migrations",
  tests: [
    test("an opened store has nothing left to migrate", async ({ store }) => {
      await store.open();
      assert.deepEqual(await store.pendingMigrations(), []);
    }),

    test("to open twice, or from another handle, changes nothing", async (world) => {
      const id = await enqueued(world);
      await world.store.open();
      await world.store.open();
      const there = await world.another();
      await there.open();
      assert.deepEqual(claimedIds(await claim({ store: there }, newOwner())), [id]);
    }),

    test("a closed store says so, and may be closed twice", async (world) => {
      await world.store.close();
      await world.store.close();
      await assert.rejects(world.store.enqueue([newJob()], OPTIONS), ClosedError);
      await assert.rejects(world.store.get([], OPTIONS), ClosedError);
    }),

    test("what a migration would run can be seen first, and is not run by looking", async (world) => {
      const store = nth(await required(world.unmigrated, "unmigrated")(1), 0);
      const pending = await store.pendingMigrations();
      assert.ok(pending.length > 0);
      assert.ok(
        pending.every(({ sql, version }, n) => sql.trim() !== "" && version > (pending[n - 1]?.version ?? 0)),
      );
      assert.deepEqual(await store.pendingMigrations(), pending);
      await store.open();
      assert.deepEqual(await store.pendingMigrations(), []);
    }),

    test("ten that start at once on a new store migrate it once, and all work", async (world) => {
      const stores = await required(world.unmigrated, "unmigrated")(10);
      await Promise.all(stores.map((store) => store.open()));
      await Promise.all(stores.map((store) => store.enqueue([newJob()], OPTIONS)));
      const { jobs } = await claim({ store: nth(stores, 9) }, newOwner());
      assert.equal(jobs.length, 10);
    }),

    test("a schema that is too new is refused with both versions, and left as it is", async (world) => {
      const store = await required(world.tooNew, "tooNew")();
      for (const call of [
        () => store.open(),
        () => store.enqueue([newJob()], OPTIONS),
        () => claim({ store }, newOwner()),
      ]) {
        await assert.rejects(call(), (error) => {
          assert.ok(error instanceof SchemaVersionError, String(error));
          assert.ok(error.found > error.known);
          return true;
        });
      }
    }),
  ],
};
