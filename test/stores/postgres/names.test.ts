import { describe, expect, it, onTestFinished } from "vitest";
import { postgres } from "../../../src/stores/postgres/index.ts";
import { optional } from "../../support/optional.ts";
import { Backends } from "../../support/postgres-backends.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { CALL, newJob, wokenBy, worldOf } from "./world.ts";

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
