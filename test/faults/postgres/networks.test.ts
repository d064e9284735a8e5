import { expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { missingNetworks, network } from "../../support/networks.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, ownServer } from "../../support/own-server.ts";
import { allEnded, audited, job, leaseholdOn, startWorker, stopped } from "./server-world.ts";

optional(
  "two workers in networks of their own, on one PostgreSQL 18",
  missingOwnServer(18) ?? missingNetworks(),
  () => {
    it("share a queue: both work, and each job runs and ends once", async () => {
      const networks = [await network(), await network()];
      const hosts = networks.map(({ host }) => host);
      const server = await ownServer(18, { listen_addresses: ["127.0.0.1", ...hosts].join(",") });
      for (const host of hosts) await server.trust(`${host}/30`);
      const query = await audited(server);
      const workers = networks.map(({ host, within }) => {
        const address = new URL(server.url);
        address.hostname = host;
        return startWorker(address.href, 2_000, 4, { within });
      });
      for (const worker of workers) await worker.tells("working");
      const from = async (): Promise<boolean> => {
        const addresses = await query(
          "select distinct client_addr from pg_stat_activity where client_addr <> '127.0.0.1'",
        );
        return addresses.length === workers.length;
      };
      await eventually("the server sees each from a network of its own", from);
      const leasehold = leaseholdOn(server);
      const enqueued = await leasehold.enqueueMany(Array.from({ length: 200 }, () => ({ job, input: 20 })));
      const found = await allEnded(query, enqueued.length);
      expect(found).toMatchObject({ broken: [], claims: enqueued.length, reclaims: 0 });
      for (const { jobId } of enqueued) expect(found.ends.get(jobId)).toEqual(["completed"]);
      for (const worker of workers) {
        expect(await stopped(worker)).toMatchObject({ failed: 0, lost: 0 });
        expect(worker.all("completed").length).toBeGreaterThan(0);
      }
    });
  },
);
