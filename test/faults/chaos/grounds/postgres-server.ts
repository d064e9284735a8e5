import { postgres } from "leasehold/postgres";
import type { OwnServer } from "../../../support/own-server.ts";
import { ownPooler } from "../../../support/pgbouncer.ts";
import type { PostgresVersion } from "../../../support/postgres-server.ts";
import type { Ground, MakeGround } from "../ground.ts";
import { storeCrash } from "../nemeses/store-crash.ts";
import { storePause } from "../nemeses/store-pause.ts";
import { TABLES } from "../processes/decisions.js";
import { SWEEP_MS } from "../settings.ts";
import { AUDIT_TRIGGERS, auditOf, decisionsOf } from "./postgres-audit.ts";
import { serverUnderFaults } from "./server-under-faults.ts";

export function postgresGround(version: PostgresVersion): MakeGround {
  return async () => onServer(await serverUnderFaults(version));
}

/** Server connections of the pooler: fewer than the workers would open, so that they have to share. */
const POOL_SIZE = 12;

export function pooledGround(version: PostgresVersion): MakeGround {
  return async () => {
    const server = await serverUnderFaults(version);
    const ground = onServer(server, await ownPooler(server.url, POOL_SIZE));
    return { ...ground, description: `${ground.description} behind pgbouncer` };
  };
}

/** @param url where workers find it; default: the server itself */
function onServer(server: OwnServer, url = server.url): Ground {
  return {
    description: `pg ${server.version}`,
    store: { kind: "postgres", url },
    open: () => postgres({ connectionString: server.url, sweepMs: SWEEP_MS }),
    prepare: async () => {
      await server.query(TABLES.postgres + AUDIT_TRIGGERS);
    },
    audit: () => auditOf(server),
    decisions: () => decisionsOf(server),
    nemeses: [
      { nemesis: storeCrash(server), weight: 3 },
      { nemesis: storePause(server), weight: 4 },
    ],
    close: async () => {},
  };
}
