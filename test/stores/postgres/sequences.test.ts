import { expect, it } from "vitest";
import { optional } from "../../support/optional.ts";
import { missingPostgres, POSTGRES_VERSIONS } from "../../support/postgres-server.ts";
import { CALL, newJob, storeOn, worldOf } from "./world.ts";

for (const version of POSTGRES_VERSIONS) {
  optional(`numbers that PostgreSQL ${version} gives`, missingPostgres(version), () => {
    it("are of 64 bits, or drawn once for each queue that there is, whatever is repeated or refused", async () => {
      const world = await worldOf(version);
      const { store } = world;
      /** What the sequences of 32 bits have given so far. */
      const drawn = async (): Promise<unknown> =>
        world.query(
          `select sequencename as name, last_value::integer as last from pg_sequences
            where schemaname = $1 and data_type = 'integer'::regtype`,
          [world.schema],
        );
      const job = newJob({ unique: { key: "k", onConflict: "keep" } });
      await store.enqueue([job], CALL);
      const before = await drawn();
      expect(before).toMatchObject([{ name: "queue_id_seq" }]);

      // From several processes' view: each store has yet to learn that the queue is there.
      const stores = Array.from({ length: 10 }, () => storeOn(world, { listen: false }));
      const outcomes = await Promise.all(
        stores.map(async (each) => {
          const heard: string[] = [];
          for (let n = 0; n < 100; n += 1) {
            const again = n % 2 === 0 ? { ...job, mayRepeat: true } : newJob({ unique: job.unique });
            heard.push(...(await each.enqueue([again], CALL)).map(({ outcome }) => outcome));
          }
          return heard;
        }),
      );
      expect(new Set(outcomes.flat())).toEqual(new Set(["repeated", "kept"]));
      for (let n = 0; n < 100; n += 1) {
        await store.pause("queue", n % 2 === 0, CALL);
        await store.limitQueue("queue", { concurrency: n + 1, rate: null }, CALL);
      }
      expect(await drawn()).toEqual(before);
    });
  });
}
