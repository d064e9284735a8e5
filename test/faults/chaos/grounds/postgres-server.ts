import { postgres } from "leasehold/postgres";
import { Clocks, missingFaketime } from "../../../support/faketime.ts";
import type { OwnServer } from "../../../support/own-server.ts";
import { ownPooler } from "../../../support/pgbouncer.ts";
import type { PostgresVersion } from "../../../support/postgres-server.ts";
import type { Ground, MakeGround } from "../ground.ts";
import { bothClocks, homeWithClock, storesClock, workersClock } from "../nemeses/clock.ts";
import { slowLink } from "../nemeses/slow-link.ts";
import { storeCrash } from "../nemeses/store-crash.ts";
import { storePause } from "../nemeses/store-pause.ts";
import { TABLES } from "../processes/decisions.js";
import { SWEEP_MS } from "../settings.ts";
import { Links } from "./links.ts";
import { AUDIT_TRIGGERS, auditOf, decisionsOf } from "./postgres-audit.ts";
import { serverUnderFaults } from "./server-under-faults.ts";

export function postgresGround(version: PostgresVersion): MakeGround {
  return async () => {
    const clocks = missingFaketime === undefined ? new Clocks() : undefined;
    const server = await serverUnderFaults(version, {}, clocks?.env("store"));
    const links = await Links.to(server.port, LINKED);
    const clockFaults = clocks === undefined ? [] : [workersClock, storesClock, bothClocks];
    return {
      ...onServer(server),
      storeOf: (worker) => ({ kind: "postgres", url: withPort(server.url, links.ports.get(worker)) }),
      // Who cannot reach the store may yet reach the destination.
      databaseUrl: server.url,
      ...(clocks && { homeOf: (worker: number) => homeWithClock(clocks, worker) }),
      nemeses: [
        ...serverFaults(server),
        { nemesis: slowLink(links), weight: 8 },
        ...clockFaults.map((make) => ({ nemesis: make(clocks as Clocks), weight: 3 })),
      ],
      skipped: missingFaketime === undefined ? [] : [`clock: ${missingFaketime}`],
      close: async () => {
        await links.close();
        clocks?.remove();
      },
    };
  };
}

/** Workers, counted from 0: not those whose clocks are set off; a way through one more process costs time as well, and others are to get on. */
const LINKED = [2, 3];

function withPort(url: string, port: number | undefined): string {
  const through = new URL(url);
  through.port = String(port ?? through.port);
  return through.href;
}

/** Server connections of the pooler: fewer than the workers would open, so that they have to share. */
const POOL_SIZE = 12;

export function pooledGround(version: PostgresVersion): MakeGround {
  return async () => {
    const server = await serverUnderFaults(version);
    return {
      ...onServer(server, await ownPooler(server.url, POOL_SIZE)),
      description: `pg ${version} behind pgbouncer`,
      nemeses: serverFaults(server),
    };
  };
}

function serverFaults(server: OwnServer): NonNullable<Ground["nemeses"]> {
  return [
    { nemesis: storeCrash(server), weight: 3 },
    { nemesis: storePause(server), weight: 4 },
  ];
}

/** @param url where workers find it; default: the server itself */
export function onServer(server: OwnServer, url = server.url): Ground {
  return {
    description: `pg ${server.version}`,
    store: { kind: "postgres", url },
    open: () => postgres({ connectionString: server.url, sweepMs: SWEEP_MS }),
    prepare: async () => {
      await server.query(TABLES.postgres + AUDIT_TRIGGERS);
    },
    audit: () => auditOf(server),
    decisions: () => decisionsOf(server),
    close: async () => {},
  };
}
