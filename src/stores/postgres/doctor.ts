/** Looks at a PostgreSQL store, its server and the way there, and changes nothing. */

import type { World } from "../../clock/world.ts";
import { LeaseholdError, StoreUnusableError } from "../../errors.ts";
import { type Examination, type Finding, messageOf, ok, problem, schemaFinding, warning } from "../doctor.ts";
import { connectionTo, describeAddress, schemaOf } from "./address.ts";
import { durability, history, rights, type Server, server, standbys } from "./doctor-findings.ts";
import type { PgConnection } from "./driver.ts";
import { look, OLDEST_SERVER } from "./migrate.ts";
import { Prepared } from "./prepared.ts";
import { loadMigrations, loadStatements } from "./sql.ts";
import { type Row, type Sql, statementsOn, Texts } from "./statements.ts";

/** How long a notification may take, ms. */
const ARRIVES_WITHIN_MS = 1_000;
/** A clock that is further off than this is worth a word, ms. */
const CLOCK_OFF_MS = 60_000;

export interface DoctorOptions {
  readonly connectionString: string;
  readonly schema?: string;
  /** Where the store listens, if not at its own address. */
  readonly listen?: string;
}

export async function examine(options: DoctorOptions, world: World): Promise<Examination> {
  const schema = schemaOf(options);
  const store = describeAddress(options, schema);
  const connections: PgConnection[] = [];
  const connect = async (address = options.connectionString): Promise<PgConnection> => {
    const connection = await connectionTo(address);
    connections.push(connection);
    connection.on("error", () => {}); // told by the query as well
    await connection.connect();
    return connection;
  };
  try {
    const findings: Finding[] = [];
    const doctor = new Doctor(schema, connect, options.listen, world, findings);
    return { store, isUsable: await doctor.examine().catch((error) => stopped(error, findings)), findings };
  } finally {
    for (const connection of connections) connection.end().catch(() => {});
  }
}

class Doctor {
  readonly #schema: string;
  readonly #connect: (address?: string) => Promise<PgConnection>;
  readonly #listen: string | undefined;
  readonly #world: World;
  readonly #findings: Finding[];

  constructor(
    schema: string,
    connect: (address?: string) => Promise<PgConnection>,
    listen: string | undefined,
    world: World,
    findings: Finding[],
  ) {
    this.#schema = schema;
    this.#connect = connect;
    this.#listen = listen;
    this.#world = world;
    this.#findings = findings;
  }

  /** @returns whether a worker could use the store */
  async examine(): Promise<boolean> {
    let connection: PgConnection;
    try {
      connection = await this.#connect();
    } catch (error) {
      if (error instanceof StoreUnusableError) throw error; // there is no driver
      const next = "Check host, port, database, user and password, and that the server is running.";
      this.#findings.push(problem("server", `It cannot be reached: ${messageOf(error)}.`, next));
      return false;
    }
    const texts = new Texts(loadStatements(this.#schema), undefined);
    const sql = statementsOn(connection, texts, new Prepared(texts, false));
    const [found] = await sql.rows<Server>("server");
    if (found === undefined) throw new Error("The server gave no row");
    this.#findings.push(server(found));
    if (found.version < OLDEST_SERVER) return false;
    const isThere = await this.#examineSchema(sql, found);
    this.#findings.push(durability(found), await this.#clock(sql));
    if (isThere && !found.is_standby) this.#findings.push(history((await sql.rows("history"))[0]));
    this.#findings.push(...standbys(found, found.is_standby ? [] : await sql.rows("standbys")));
    await this.#examineWay(connection, found.is_standby);
    return isThere && !found.is_standby;
  }

  /** Whether the tables are there, of a kind that this version knows, and may be looked at. */
  async #examineSchema(sql: Sql, found: Server): Promise<boolean> {
    const newest = loadMigrations(this.#schema).at(-1)?.version ?? 0;
    const [row] = await sql.rows("rights", [this.#schema]);
    const judged = rights(found, row);
    if (judged.level === "problem") {
      this.#findings.push(judged);
      return false;
    }
    const schema = schemaFinding(await look(sql, this.#schema, "The server"), newest);
    this.#findings.push(schema, judged);
    return schema.level !== "problem";
  }

  /** For display only: nothing in the protocol holds one machine's clock against another's (T4). */
  async #clock(sql: Sql): Promise<Finding> {
    const { clock } = this.#world;
    const sentMs = clock.wallMs();
    const sent = clock.monotonicMs();
    const [row] = await sql.rows<{ now: number }>("store time");
    const tripMs = clock.monotonicMs() - sent;
    const offMs = Math.round((row?.now ?? 0) - (sentMs + tripMs / 2));
    const direction = offMs < 0 ? "behind" : "ahead of";
    const told = `Store time is ${Math.abs(offMs)} ms ${direction} this machine's clock, ± ${Math.ceil(tripMs / 2)} ms.`;
    return Math.abs(offMs) - tripMs < CLOCK_OFF_MS
      ? ok("clock", told)
      : warning("clock", told, "Set the clocks: leases are safe, but `runAt` and times shown will surprise.");
  }

  async #examineWay(connection: PgConnection, isStandby: boolean): Promise<void> {
    const other = await this.#connect();
    const isShared = await this.#sharesProcesses(connection, other);
    this.#findings.push(await pooler(connection, isShared));
    if (isStandby) return;
    const finding =
      isShared && this.#listen === undefined ? undefined : await this.#listener(connection, other);
    const next = "Give `listen` the server's own address; until then new jobs are found by polling alone.";
    this.#findings.push(finding ?? warning("listener", "Notifications do not arrive at this address.", next));
  }

  /**
   * Whether one process of the server answers both connections, or different ones answer one: then it is lent for a
   * transaction at a time. In this order, so that a pooler which lends its connections in turn shows it as well.
   */
  async #sharesProcesses(one: PgConnection, other: PgConnection): Promise<boolean> {
    const mine = new Set([await processOf(one), await processOf(one)]);
    const theirs = new Set([await processOf(other)]);
    mine.add(await processOf(one));
    theirs.add(await processOf(other));
    return mine.size > 1 || theirs.size > 1 || [...mine].some((pid) => theirs.has(pid));
  }

  /** The listener's own test, on a channel of its own, so that nobody is woken; undefined when nothing arrives. */
  async #listener(connection: PgConnection, other: PgConnection): Promise<Finding | undefined> {
    let listening = other;
    try {
      if (this.#listen !== undefined) listening = await this.#connect(this.#listen);
    } catch (error) {
      const next = "Correct the address to listen at; until then new jobs are found by polling alone.";
      return warning("listener", `It cannot listen: ${messageOf(error)}.`, next);
    }
    if (this.#listen !== undefined && (await this.#sharesProcesses(connection, listening))) return undefined;
    const channel = `leasehold_doctor_${Math.floor(this.#world.random.next() * 1e9)}`;
    const { clock, timers } = this.#world;
    const heard = new Promise<true>((resolve) => {
      listening.on("notification", (message) => message.channel === channel && resolve(true));
    });
    await listening.query({ text: `listen ${channel}` });
    const sentMs = clock.monotonicMs();
    await connection.query({ text: "select pg_notify($1, '')", values: [channel] });
    const arrived = await Promise.race([heard, timers.sleep(ARRIVES_WITHIN_MS)]);
    if (arrived !== true) return undefined;
    return ok("listener", `A notification arrived after ${Math.ceil(clock.monotonicMs() - sentMs)} ms.`);
  }
}

/** What was found before stands. */
function stopped(error: unknown, findings: Finding[]): boolean {
  if (error instanceof LeaseholdError) throw error;
  const next = "Look into the server's log, and run doctor again.";
  findings.push(problem("server", `It gave no answer: ${messageOf(error)}.`, next));
  return false;
}

async function pooler(connection: PgConnection, isShared: boolean): Promise<Finding> {
  if (isShared) {
    return ok(
      "pooler",
      "A pooler lends server connections for a transaction at a time; the store can work so.",
    );
  }
  return (await processOf(connection)) === connection.processID
    ? ok("pooler", "None: each connection has a process of the server's.")
    : ok(
        "pooler",
        "Something stands before the server, but each connection keeps a process of the server's.",
      );
}

async function processOf(connection: PgConnection): Promise<number> {
  const { rows } = await connection.query({ text: "select pg_backend_pid() as pid" });
  return Number((rows[0] as Row | undefined)?.["pid"]);
}
