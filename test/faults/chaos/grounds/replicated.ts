import { postgres } from "leasehold/postgres";
import type { PostgresVersion } from "../../../support/postgres-server.ts";
import type { MakeGround } from "../ground.ts";
import { failover } from "../nemeses/failover.ts";
import { TABLES } from "../processes/decisions.js";
import { SWEEP_MS } from "../settings.ts";
import { AUDIT_TRIGGERS, auditOf, decisionsOf } from "./postgres-audit.ts";
import { type Mode, Replicas, WAYS } from "./replicas.ts";
import { serverUnderFaults } from "./server-under-faults.ts";
import { Switches } from "./switches.ts";

/**
 * A primary and its standby. The destination `database` is on a server of its own, which loses nothing: what is refused
 * there is refused because of its token, and not because somebody has forgotten it.
 */
export function replicatedGround(version: PostgresVersion, mode: Mode): MakeGround {
  return async () => {
    const destination = await serverUnderFaults(version);
    const primary = await serverUnderFaults(version);
    const switches = await Switches.to(primary, WAYS);
    const replicas = await Replicas.of(mode, primary, switches);
    return {
      description: `pg ${version} ${mode}`,
      store: { kind: "postgres", url: switches.url("first") },
      storeOf: (worker) => ({ kind: "postgres", url: switches.url(worker % 2 === 0 ? "first" : "second") }),
      databaseUrl: destination.url,
      open: () => postgres({ connectionString: switches.url("client"), sweepMs: SWEEP_MS }),
      prepare: async () => {
        await replicas.primary.query(AUDIT_TRIGGERS);
        await destination.query(TABLES.postgres);
      },
      audit: () => auditOf(replicas.primary),
      decisions: () => decisionsOf(destination),
      lost: () => [...replicas.lost],
      nemeses: [{ nemesis: failover(replicas), weight: 12 }],
      close: () => switches.close(),
    };
  };
}
