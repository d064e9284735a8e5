/** What is made of the server's answers: each function judges one of them. */

import { type Finding, ok, problem, warning } from "../doctor.ts";
import { OLDEST_SERVER } from "./migrate.ts";
import type { Row } from "./statements.ts";

export interface Server {
  /** As in 180001. */
  readonly version: number;
  readonly version_text: string;
  readonly role: string;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly synchronous_commit: string;
  readonly synchronous_standby_names: string;
  readonly is_standby: boolean;
  readonly may_create: boolean;
}

/** The newest on which the store was tested. */
const NEWEST_TESTED = 18;

export function server({ version, version_text, role }: Server): Finding {
  const found = `PostgreSQL ${version_text}, as ${role}.`;
  if (version < OLDEST_SERVER) return problem("server", found, "Use PostgreSQL 15 or newer.");
  return Math.floor(version / 10_000) > NEWEST_TESTED
    ? warning("server", found, `Newer than ${NEWEST_TESTED}, the last that was tested: try it out first.`)
    : ok("server", found);
}

/** @param row undefined when there is no such schema */
export function rights({ role, may_create }: Server, row: Row | undefined): Finding {
  if (row === undefined) {
    return may_create
      ? problem("schema", "There is no store here.", "Run `leasehold migrate`, or correct the address.")
      : problem(
          "schema",
          `There is no store here, and ${role} may not make one.`,
          "Let the database's owner run `create schema … authorization …` for this user, then `leasehold migrate`.",
        );
  }
  if (row["may_use"] !== true) {
    return problem("rights", `${role} may not use the schema.`, grantAdvice(role));
  }
  const missing = (row["missing"] ?? []) as string[];
  if (missing.length > 0) {
    const some = missing.slice(0, 5).join(", ");
    const more = missing.length > 5 ? ` and ${missing.length - 5} more` : "";
    return problem("rights", `${role} lacks rights on ${some}${more}.`, grantAdvice(role));
  }
  return row["owns"] === true
    ? ok("rights", `${role} may read, write and migrate the store.`)
    : warning(
        "rights",
        `${role} may read and write the store, but does not own it, so it cannot migrate.`,
        "Run `leasehold migrate` as the owner before new versions are installed, and open with migrate: false.",
      );
}

function grantAdvice(role: string): string {
  return `Let ${role} own the schema and its tables, or grant it usage on the one and select, insert, update, delete on the other.`;
}

export function durability({ fsync, full_page_writes, synchronous_commit }: Server): Finding {
  if (fsync !== "on") {
    return problem(
      "durability",
      "fsync is off: a crash of the machine may lose or damage everything.",
      "Set fsync = on.",
    );
  }
  if (full_page_writes !== "on") {
    return problem(
      "durability",
      "full_page_writes is off: a crash of the machine may damage the tables.",
      "Set full_page_writes = on, unless the file system writes whole pages at once.",
    );
  }
  if (synchronous_commit === "off") {
    return warning(
      "durability",
      "synchronous_commit is off: a crash may lose jobs enqueued in the last moment. Claims and ends wait for the disk.",
      "Set synchronous_commit = on for this database or user, if jobs must not be lost.",
    );
  }
  return ok("durability", `fsync and full_page_writes are on, synchronous_commit is ${synchronous_commit}.`);
}

export function history(row: Row | undefined): Finding {
  const epoch = `Epoch ${row?.["epoch"]}, system ${row?.["current_system_id"]}, timeline ${row?.["current_timeline"]}`;
  if (row?.["history_changed"] === true) {
    return warning(
      "history",
      `${epoch}, but leases were granted on system ${row["system_id"]}, timeline ${row["timeline"]}: this is another server.`,
      "Nothing, if this is a restored copy: the next claim raises the floor, and leases from before are refused.",
    );
  }
  if (row?.["timeline"] !== row?.["current_timeline"]) {
    return ok(
      "history",
      `${epoch}: a standby was promoted since timeline ${row?.["timeline"]}; leases from before are refused.`,
    );
  }
  return ok("history", `${epoch}, the ones that the leases were granted on.`);
}

export function standbys({ is_standby, synchronous_standby_names }: Server, rows: readonly Row[]): Finding[] {
  if (is_standby) {
    const next = "Connect to the primary, or promote this one.";
    return [problem("standbys", "This server is a standby: nothing can be written here.", next)];
  }
  const synchronous = rows.filter((row) => row["sync_state"] === "sync" || row["sync_state"] === "quorum");
  const findings: Finding[] = [];
  if (synchronous_standby_names !== "" && synchronous.length === 0 && rows.every((row) => row["state"])) {
    findings.push(
      warning(
        "standbys",
        `synchronous_standby_names asks for ${synchronous_standby_names}, and none of them is connected: writes wait.`,
        "Bring the standby back, or take it out of synchronous_standby_names.",
      ),
    );
  }
  if (rows.some((row) => row["state"] === null)) {
    const next = "Run doctor as a user with pg_monitor to see how far they lag.";
    findings.push(
      warning("standbys", `${rows.length} connected, but this user may not see their state.`, next),
    );
  } else if (rows.length === 0) {
    findings.push(ok("standbys", "None is connected."));
  } else if (synchronous.length > 0) {
    findings.push(ok("standbys", `${rows.map(standby).join("; ")}.`));
  } else {
    findings.push(
      warning(
        "standbys",
        `${rows.map(standby).join("; ")}. If one of them is promoted, the last acknowledged writes may be missing.`,
        "No lease is granted twice after that; if jobs and outcomes must not be lost either, make one synchronous.",
      ),
    );
  }
  return findings;
}

function standby(row: Row): string {
  const lag = row["lag_ms"] === null ? "" : `, ${row["lag_ms"]} ms`;
  return `${row["name"]} is ${row["sync_state"]} and ${row["state"]}, ${row["lag_bytes"] ?? "?"} bytes${lag} behind`;
}
