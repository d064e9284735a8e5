/** Looks at a SQLite store and where it lies, and changes nothing. */

import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Examination, type Finding, messageOf, ok, problem, schemaFinding, warning } from "../doctor.ts";
import { type Database, isWalSafe, loadDriver } from "./driver.ts";
import { NEWEST, schemaIn } from "./migrate.ts";
import { currentBootId } from "./open.ts";

export interface DoctorOptions {
  readonly path: string;
  readonly synchronous: "full" | "normal";
}

/** What Linux calls file systems that other machines may share, and for which the write-ahead log does not work. */
const NETWORK = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9p"],
  [0x00c36400, "Ceph"],
  [0x5346414f, "AFS"],
  [0x01161970, "GFS2"],
  [0x7461636f, "OCFS2"],
  [0x0bd00bd0, "Lustre"],
]);
const FUSE = 0x65735546;

export async function examine({ path, synchronous }: DoctorOptions): Promise<Examination> {
  const store = `sqlite ${path}`;
  const { name, Database, sqliteVersion } = await loadDriver();
  const findings = [engine(name, sqliteVersion), file(path)];
  if (findings.some(({ level }) => level === "problem") || !existsSync(path)) {
    return { store, isUsable: false, findings };
  }
  findings.push(fileSystem(path));
  let database: Database | undefined;
  try {
    database = new Database(path, { readOnly: true });
    const schema = schemaFinding(schemaIn(database), NEWEST);
    findings.push(schema);
    if (schema.level === "problem") return { store, isUsable: false, findings };
    findings.push(durability(database, synchronous), history(database, synchronous), integrity(database));
    return { store, isUsable: true, findings };
  } catch (error) {
    const next = "Check the path, and that nobody holds the file; restore it from a backup if it is damaged.";
    findings.push(problem("file", `It cannot be read: ${messageOf(error)}.`, next));
    return { store, isUsable: false, findings };
  } finally {
    database?.close();
  }
}

function engine(name: string, version: string): Finding {
  return isWalSafe(version)
    ? ok("engine", `SQLite ${version} of ${name}, safe for several processes.`)
    : problem(
        "engine",
        `SQLite ${version} of ${name} can lose committed writes when several processes share a file.`,
        "Run `npm install @photostructure/sqlite`, or use a newer Node.",
      );
}

function file(path: string): Finding {
  if (!existsSync(path)) {
    return problem("schema", "There is no store here.", "Run `leasehold migrate`, or correct the path.");
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
  } catch {
    return problem(
      "file",
      "This user may not write the file and its folder.",
      "Give it write access to both: SQLite keeps two files beside the database.",
    );
  }
  return ok("file", `${(statSync(path).size / 1_048_576).toFixed(1)} MiB, and this user may write it.`);
}

function fileSystem(path: string): Finding {
  if (process.platform !== "linux") {
    return ok("file system", "Not known here; it must be a local disk, not a network's.");
  }
  const type = statfsSync(path).type >>> 0;
  const network = NETWORK.get(type);
  if (network !== undefined) {
    return problem(
      "file system",
      `${network} is shared by machines, and SQLite's write-ahead log does not work there.`,
      "Move the file to a local disk, or use PostgreSQL.",
    );
  }
  return type === FUSE
    ? warning(
        "file system",
        "FUSE, behind which may be anything.",
        "Make sure that one machine alone has it mounted.",
      )
    : ok("file system", "Local.");
}

function durability(database: Database, synchronous: "full" | "normal"): Finding {
  const mode = String(database.prepare("pragma journal_mode").get()?.["journal_mode"]);
  if (mode !== "wal") {
    return warning(
      "durability",
      `The journal mode is ${mode}; the store sets it to wal when it is opened.`,
      "Nothing, unless another program sets it back.",
    );
  }
  return synchronous === "full"
    ? ok("durability", "Write-ahead log, synchronous=full: what was acknowledged survives a power cut.")
    : warning(
        "durability",
        "synchronous=normal: a power cut may lose the last commits, acknowledged ones among them.",
        "Open the store with synchronous=full, if jobs must not be lost.",
      );
}

function history(database: Database, synchronous: "full" | "normal"): Finding {
  const row = database.prepare("select epoch, boot_id from leasehold_store").get();
  const epoch = `Epoch ${row?.["epoch"]}`;
  const noted = row?.["boot_id"];
  if (synchronous === "normal" && noted !== null && noted !== currentBootId()) {
    return ok(
      "history",
      `${epoch}; the machine was started anew since, so the next opening raises the floor.`,
    );
  }
  return ok("history", `${epoch}. After a restore from a copy run \`leasehold raise-floor\`.`);
}

function integrity(database: Database): Finding {
  const words = quickCheck(database);
  return words === "ok"
    ? ok("integrity", "SQLite's quick check found nothing.")
    : problem(
        "integrity",
        `The file is damaged: ${words}.`,
        "Restore it from a backup, then raise the floor.",
      );
}

function quickCheck(database: Database): string {
  try {
    const rows = database.prepare("pragma quick_check(3)").all();
    return rows.map((row) => String(row["quick_check"])).join("; ");
  } catch (error) {
    return messageOf(error); // some damage stops the check itself
  }
}
