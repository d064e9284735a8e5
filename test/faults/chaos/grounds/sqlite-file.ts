import { join } from "node:path";
import { sqliteGuard } from "leasehold/destinations/sqlite";
import { openDatabase, sqlite } from "leasehold/sqlite";
import { Clocks, missingFaketime } from "../../../support/faketime.ts";
import { smallDisk } from "../../../support/small-disk.ts";
import type { Ground } from "../ground.ts";
import { homeWithClock, workersClock } from "../nemeses/clock.ts";
import { diskFull } from "../nemeses/disk-full.ts";
import { writerFrozen, writerKilled } from "../nemeses/writer.ts";
import { SELECT_DECISIONS, TABLES } from "../processes/decisions.js";
import type { AuditEntry, DestinationEntry } from "../record.ts";
import { SWEEP_MS } from "../settings.ts";
import { auditTriggers, readAudit } from "./sqlite-audit.ts";

/** A SQLite file; its clock is that of whoever writes. */
export async function sqliteFile(folder: string): Promise<Ground> {
  const disk = await smallDisk(join(folder, "disk"));
  const path = join(folder, "disk", "jobs.db");
  const clocks = missingFaketime === undefined ? new Clocks() : undefined;
  const eyes = await openDatabase(path);
  eyes.exec("pragma journal_mode = wal; pragma busy_timeout = 10000");
  return {
    description: "sqlite",
    store: { kind: "sqlite", path },
    ...(clocks && {
      homeOf: (worker: number) => homeWithClock(clocks, worker),
    }),
    nemeses: [
      { nemesis: writerFrozen(), weight: 6 },
      { nemesis: writerKilled(), weight: 6 },
      ...(clocks ? [{ nemesis: workersClock(clocks), weight: 8 }] : []),
      ...(disk ? [{ nemesis: diskFull(disk), weight: 4 }] : []),
    ],
    skipped: [
      ...(missingFaketime === undefined ? [] : [`clock: ${missingFaketime}`]),
      ...(disk ? [] : ["disk full: no CAP_SYS_ADMIN"]),
    ],
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
      disk?.close();
    },
  };
}
