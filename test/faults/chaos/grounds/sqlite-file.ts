import { join } from "node:path";
import { sqliteGuard } from "leasehold/destinations/sqlite";
import { openDatabase, sqlite } from "leasehold/sqlite";
import { Clocks, missingFaketime } from "../../../support/faketime.ts";
import type { Ground } from "../ground.ts";
import { workersClock } from "../nemeses/clock.ts";
import { SELECT_DECISIONS, TABLES } from "../processes/decisions.js";
import type { AuditEntry, DestinationEntry } from "../record.ts";
import { SWEEP_MS } from "../settings.ts";
import { auditTriggers, readAudit } from "./sqlite-audit.ts";

/** A SQLite file; its clock is that of whoever writes. */
export async function sqliteFile(folder: string): Promise<Ground> {
  const path = join(folder, "jobs.db");
  const clocks = missingFaketime === undefined ? new Clocks() : undefined;
  const eyes = await openDatabase(path);
  eyes.exec("pragma journal_mode = wal; pragma busy_timeout = 10000");
  return {
    description: "sqlite",
    store: { kind: "sqlite", path },
    ...(clocks && {
      homeOf: (worker: number) => ({ env: clocks.env(`worker ${worker + 1}`) }),
      nemeses: [{ nemesis: workersClock(clocks), weight: 8 }],
    }),
    open: () => sqlite({ path, synchronous: "normal", sweepMs: SWEEP_MS }),
    prepare: async () => {
      eyes.exec(TABLES.sqlite + auditTriggers(eyes));
      await sqliteGuard(eyes).migrate();
    },
    audit: async () => readAudit(eyes) as AuditEntry[],
    decisions: async () => eyes.prepare(SELECT_DECISIONS).all() as unknown as DestinationEntry[],
    close: async () => {
      clocks?.remove();
      eyes.close();
    },
  };
}
