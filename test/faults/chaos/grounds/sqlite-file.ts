import { join } from "node:path";
import { openDatabase, sqlite } from "leasehold/sqlite";
import type { Ground } from "../ground.ts";
import { SELECT_DECISIONS, TABLES } from "../processes/decisions.js";
import type { AuditEntry, DestinationEntry } from "../record.ts";
import { SETTINGS } from "../settings.ts";
import { auditTriggers, readAudit } from "./sqlite-audit.ts";

/** A SQLite file; its clock is the machine's. */
export async function sqliteFile(folder: string): Promise<Ground> {
  const path = join(folder, "jobs.db");
  const eyes = await openDatabase(path);
  eyes.exec("pragma journal_mode = wal; pragma busy_timeout = 10000");
  return {
    description: "sqlite",
    store: { kind: "sqlite", path },
    open: () => sqlite({ path, synchronous: "normal", sweepMs: SETTINGS.sweepMs }),
    prepare: async () => eyes.exec(TABLES.sqlite + auditTriggers(eyes)),
    audit: async () => readAudit(eyes) as AuditEntry[],
    decisions: async () => eyes.prepare(SELECT_DECISIONS).all() as unknown as DestinationEntry[],
    close: async () => eyes.close(),
  };
}
