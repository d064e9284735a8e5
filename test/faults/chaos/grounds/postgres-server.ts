import { postgres } from "leasehold/postgres";
import { type OwnServer, ownServer } from "../../../support/own-server.ts";
import type { PostgresVersion } from "../../../support/postgres-server.ts";
import type { Ground, MakeGround } from "../ground.ts";
import { SELECT_DECISIONS, TABLES } from "../processes/decisions.js";
import type { AuditEntry, DestinationEntry } from "../record.ts";
import { SETTINGS } from "../settings.ts";
import { AUDIT_TRIGGERS, SELECT_AUDIT } from "./postgres-audit.ts";

/** A ground on a server of the run's own, for nemeses that lay hands on it. */
export interface PostgresGround extends Ground {
  readonly server: OwnServer;
}

export function postgresGround(version: PostgresVersion): MakeGround {
  return async () => onServer(await ownServer(version));
}

/** @param url where workers find it; default: the server itself */
export function onServer(server: OwnServer, url = server.url): PostgresGround {
  const numbers = <Row extends object>(row: Row, names: readonly string[]): Row => ({
    ...row,
    ...Object.fromEntries(names.map((name) => [name, Number(row[name as keyof Row])])),
  });
  return {
    server,
    description: `pg ${server.version}`,
    store: { kind: "postgres", url },
    open: () => postgres({ connectionString: server.url, sweepMs: SETTINGS.sweepMs }),
    prepare: async () => {
      await server.query(TABLES.postgres + AUDIT_TRIGGERS);
    },
    audit: async () => {
      const rows = await server.query(SELECT_AUDIT);
      return rows.map((row) => numbers(row, ["seq", "storeMs", "epoch"])) as unknown as AuditEntry[];
    },
    decisions: async () => {
      const rows = await server.query(SELECT_DECISIONS);
      return rows.map((row) => numbers(row, ["seq", "generation"])) as unknown as DestinationEntry[];
    },
    close: async () => {},
  };
}
