import { describe, expect, it, onTestFinished } from "vitest";
import { postgres } from "../../../src/stores/postgres/index.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { Backends } from "../../support/postgres-backends.ts";
import { missingPostgres, POSTGRES_VERSIONS } from "../../support/postgres-server.ts";
import { CALL, newJob, storeOn, wokenBy, worldOf } from "./world.ts";

optional("names of connections to PostgreSQL 18", missingPostgres(18), () => {
  describe("a store", () => {
    it("shows operators what each connection is for, in pg_stat_activity, unless the address has one", async () => {
      const world = await worldOf(18);
      const address = new URL(world.url);
      const user = `user_${world.schema}`;
      await world.query(`create role ${user} login superuser`);
      onTestFinished(async () => void (await world.query(`drop role ${user}`)));
      address.username = user;
      const backends = new Backends(world.query, user);
      const names = async (connectionString: string): Promise<string[]> => {
        const store = postgres({ connectionString, schema: world.schema });
        await store.enqueue([newJob()], CALL);
        await wokenBy(store, () => world.store.enqueue([newJob()], CALL));
        const found = (await backends.all()).map(({ name }) => name);
        await store.close();
        return [...new Set(found)].sort();
      };
      expect(await names(address.href)).toEqual(["leasehold", "leasehold listen"]);
      address.searchParams.set("application_name", "billing");
      expect(await names(address.href)).toEqual(["billing"]);
    });
  });
});

for (const version of POSTGRES_VERSIONS) {
  optional(`names and notifications on PostgreSQL ${version}`, missingPostgres(version), () => {
    describe("an enqueue of the longest names in characters of four bytes", () => {
      it("notifies with a short text that has none of them, in a call of its own and in a caller's transaction", async () => {
        const world = await worldOf(version);
        const bound: unknown[] = [];
        const store = storeOn(world, { listen: false, trace: (_, parameters) => bound.push(...parameters) });
        // 500 queues, of which each has used up its 255 bytes: what a notification may have would hold 31 of them.
        const jobs = Array.from({ length: 500 }, (_, n) => {
          const longest = `${"🦊".repeat(62)}${n}`;
          return newJob({
            name: longest,
            queue: longest,
            resource: longest,
            unique: { key: longest, onConflict: "keep" },
          });
        });
        expect(new Set((await store.enqueue(jobs, CALL)).map(({ outcome }) => outcome))).toEqual(
          new Set(["enqueued"]),
        );
        const plain = jobs.map(({ queue, name }) => newJob({ queue, name }));
        await store.enqueue(plain, CALL);
        const caller = await world.begin();
        await store.enqueue([newJob({ queue: jobs[0]?.queue ?? "" })], { ...CALL, tx: caller.tx });
        await caller.commit();
        await eventually("it has notified", () => bound.some(isChannel));
        const told = bound.flatMap((value, n) => (isChannel(value) ? [String(bound[n + 1])] : []));
        for (const payload of told) expect(payload).toMatch(/^[0-9a-f]{12}$/);
      });
    });
  });
}

const isChannel = (value: unknown): boolean => /^leasehold_[0-9a-f]+$/.test(String(value));
