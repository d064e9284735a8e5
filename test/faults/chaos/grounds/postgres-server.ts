import { postgres } from "leasehold/postgres";
import { Clocks, missingFaketime } from "../../../support/faketime.ts";
import { type OwnServer, ownServer } from "../../../support/own-server.ts";
import type { PostgresVersion } from "../../../support/postgres-server.ts";
import type { Ground, MakeGround } from "../ground.ts";
import { bothClocks, homeWithClock, storesClock, workersClock } from "../nemeses/clock.ts";
import { slowLink } from "../nemeses/slow-link.ts";
import { SELECT_DECISIONS, TABLES } from "../processes/decisions.js";
import type { AuditEntry, DestinationEntry } from "../record.ts";
import { SWEEP_MS } from "../settings.ts";
import { Links } from "./links.ts";
import { AUDIT_TRIGGERS, SELECT_AUDIT } from "./postgres-audit.ts";

/** Processes die here, and the machine does not: what was written is there also without waiting for the disk. */
export const UNHURRIED = { fsync: "off", full_page_writes: "off" };

/** A ground on a server of the run's own, for nemeses that lay hands on it. */
export interface PostgresGround extends Ground {
  readonly server: OwnServer;
}

export function postgresGround(version: PostgresVersion): MakeGround {
  return async () => {
    const clocks = missingFaketime === undefined ? new Clocks() : undefined;
    const server = await ownServer(version, UNHURRIED, clocks?.env("store"));
    const links = await Links.to(server.port, LINKED);
    return {
      ...onServer(server),
      storeOf: (worker) => ({ kind: "postgres", url: withPort(server.url, links.ports.get(worker)) }),
      // Who cannot reach the store may yet reach the destination.
      databaseUrl: server.url,
      ...(clocks && { homeOf: (worker: number) => homeWithClock(clocks, worker) }),
      nemeses: [
        { nemesis: slowLink(links), weight: 8 },
        ...(clocks === undefined
          ? []
          : [workersClock, storesClock, bothClocks].map((make) => ({ nemesis: make(clocks), weight: 3 }))),
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
    open: () => postgres({ connectionString: server.url, sweepMs: SWEEP_MS }),
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
