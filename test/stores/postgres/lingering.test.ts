import { describe, expect, it } from "vitest";
import { UnknownOutcomeError } from "../../../src/errors.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import type { PostgresWorld } from "../../support/postgres-harness.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { CALL, newJob, storeOn, worldOf } from "./world.ts";

/** The server processes of the store's own connections, those of a world whose name they carry. */
async function backends({ query, schema }: PostgresWorld): Promise<readonly unknown[]> {
  const rows = await query(
    "select pid from pg_stat_activity where application_name = $1 and query not like 'listen%' order by pid",
    [schema],
  );
  return rows.map(({ pid }) => pid);
}

optional("calls on PostgreSQL 18 that are given up", missingPostgres(18), () => {
  async function slowWorld(maxConnections: number) {
    const world = await worldOf(18);
    const address = new URL(world.url);
    address.searchParams.set("application_name", world.schema);
    const store = storeOn(world, { connectionString: address.href, listen: false, maxConnections });
    await store.enqueue([newJob()], CALL);
    const caller = await world.begin();
    const tx = caller.tx as { query(text: string): Promise<unknown> };
    const giveUp = (): Promise<void> =>
      expect(store.enqueue([newJob()], { timeoutMs: 200 })).rejects.toThrow(UnknownOutcomeError);
    return {
      world,
      store,
      giveUp,
      beSlow: () => tx.query(`lock table ${world.schema}.job in exclusive mode`),
      beQuick: () => caller.rollback(),
    };
  }

  describe("leave a connection that", () => {
    it("is used again when its answer has come", async () => {
      const { world, store, giveUp, beSlow, beQuick } = await slowWorld(5);
      const before = await backends(world);
      await beSlow();
      await giveUp();
      expect(await backends(world)).toEqual(before);
      await beQuick();
      await eventually(
        "the answer",
        async () =>
          (
            await world.query("select from pg_stat_activity where application_name = $1 and state = 'idle'", [
              world.schema,
            ])
          ).length === before.length,
      );
      await store.enqueue([newJob()], CALL);
      expect(await backends(world)).toEqual(before);
      // What was given up has happened all the same: the outcome was unknown, not busy.
      expect((await store.counts(CALL))[0]).toMatchObject({ ready: 3 });
    });

    it("is closed when more of them wait than may", async () => {
      const { world, store, giveUp, beSlow, beQuick } = await slowWorld(3);
      const [first] = await backends(world);
      await beSlow();
      for (let calls = 0; calls < 3; calls += 1) await giveUp();
      await beQuick();
      await eventually(
        "the end of the one that waited longest",
        async () => !(await backends(world)).includes(first),
      );
      await store.enqueue([newJob()], CALL);
    });

    it("is closed at once in a pool that has no other", async () => {
      const { world, store, giveUp, beSlow, beQuick } = await slowWorld(1);
      const [first] = await backends(world);
      await beSlow();
      await giveUp();
      await beQuick();
      await store.enqueue([newJob()], CALL);
      expect(await backends(world)).not.toContain(first);
    });
  });
});
