/** A PostgreSQL server that one test owns, to be stopped, killed, frozen, copied and promoted as it likes. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { inject, onTestFinished } from "vitest";
import { eventually } from "./eventually.ts";
import { freePort, unprivileged } from "./keeping.js";
import { lastWill } from "./last-will.js";
import { asArguments, SERVER_ENV } from "./postgres-process.js";
import {
  missingPrograms,
  type PostgresVersion,
  postgresPrograms,
  serverTemplate,
} from "./postgres-server.ts";
import { missingProc, processesIn, signalAll } from "./processes-in.js";

export type Settings = Readonly<Record<string, string | number>>;

/** The code of a query that a standby has cancelled, since what it replays takes away what the query reads. */
const CONFLICT_WITH_RECOVERY = "40001";
/** On a busy machine the log of a server that was killed takes its time to be read again, ms. */
const RECOVERED_WITHIN_MS = 60_000;

/** As durable as PostgreSQL is by itself. */
const SETTINGS: Settings = {
  unix_socket_directories: "",
  dynamic_shared_memory_type: "mmap", // in its own folder, so that a killed server leaves nothing elsewhere
  shared_buffers: "16MB",
};

export function missingOwnServer(version: PostgresVersion): string | undefined {
  return missingProc ?? missingPrograms(version);
}

/** A server that runs, until the end of the test. */
export async function ownServer(
  version: PostgresVersion,
  settings: Settings = {},
  env: Readonly<Record<string, string>> = {},
): Promise<OwnServer> {
  const server = await OwnServer.from(
    await serverTemplate(version, inject("servers").folder),
    version,
    settings,
    env,
  );
  await server.start();
  return server;
}

export class OwnServer {
  readonly version: PostgresVersion;
  readonly port: number;
  /** The server's own folder, in which its processes work. */
  readonly data: string;
  readonly #home: string;
  readonly #settings: Settings;
  /** Besides what servers always have. */
  readonly #env: Readonly<Record<string, string>>;
  readonly #postgres: string;
  #postmaster: ChildProcess | undefined;
  /** Of a killed server: a segment of shared memory that nobody else removes. */
  #segment: string | undefined;

  private constructor(
    version: PostgresVersion,
    postgres: string,
    home: string,
    port: number,
    settings: Settings,
    env: Readonly<Record<string, string>>,
  ) {
    this.version = version;
    this.port = port;
    this.data = join(home, "data");
    this.#home = home;
    this.#postgres = postgres;
    this.#env = env;
    this.#settings = { listen_addresses: "127.0.0.1", port, ...SETTINGS, ...settings };
  }

  /** Not yet started. `files` is the folder of a server that does not run. */
  static async from(
    files: string,
    version: PostgresVersion,
    settings: Settings,
    env: Readonly<Record<string, string>> = {},
  ): Promise<OwnServer> {
    const { postgres } = await postgresPrograms(version);
    const home = mkdtempSync(join(tmpdir(), "leasehold-server-"));
    const revoke = [await lastWill({ remove: home }), await lastWill({ endProcessesIn: join(home, "data") })];
    chmodSync(home, 0o711); // as root, the server is another user's
    const server = new OwnServer(version, postgres, home, await quietPort(), settings, env);
    onTestFinished(async () => {
      await server.#close();
      for (const each of revoke) each();
    });
    copy(files, server.data);
    return server;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Resolves when it answers queries: after a kill, when what was lost of its files has been made good. */
  async start(settings: Settings = {}): Promise<void> {
    const log = openSync(join(this.#home, "log"), "a");
    const postmaster = spawn(
      this.#postgres,
      ["-D", this.data, ...asArguments({ ...this.#settings, ...settings })],
      {
        ...unprivileged(),
        env: { ...SERVER_ENV, ...this.#env },
        cwd: this.data,
        stdio: ["ignore", log, log],
      },
    );
    closeSync(log);
    this.#postmaster = postmaster;
    const answers = async () => {
      if (postmaster.exitCode !== null) {
        throw new Error(`The server ended:\n${readFileSync(join(this.#home, "log"), "utf8").slice(-3_000)}`);
      }
      return this.query("select 1").catch(() => undefined);
    };
    await eventually("the server answers", answers, RECOVERED_WITHIN_MS);
  }

  /** One query on a connection of its own. */
  async query<Row extends Record<string, unknown>>(text: string, params: unknown[] = []): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query<Row>(text, params)).rows;
    } finally {
      await client.end();
    }
  }

  /** For all who connect from now on. */
  async set(name: string, value: string): Promise<void> {
    await this.query(`alter system set ${name} = '${value}'`);
    await this.query("select pg_reload_conf()");
    await eventually(`${name} is set`, async () => {
      const [row] = await this.query<{ value: string }>("select current_setting($1) as value", [name]);
      return row?.value === value;
    });
  }

  /** In order: everything that was written is on the disk, and a standby has it too. */
  async stop(): Promise<void> {
    this.#postmaster?.kill("SIGINT");
    await this.#gone();
  }

  /**
   * kill -9. Of the `postmaster` alone: the others find out by and by, and may yet finish what they do. `all`: at one
   * moment, so that nothing more is written, nor sent to a standby.
   */
  async kill(which: "postmaster" | "all"): Promise<void> {
    if (which === "all") {
      this.freeze();
      signalAll(processesIn(this.data), "SIGKILL");
    } else {
      this.#postmaster?.kill("SIGKILL");
    }
    await this.#gone();
    const lock = join(this.data, "postmaster.pid");
    this.#segment = readFileSync(lock, "utf8").split("\n")[6]?.trim().split(/\s+/)[1];
    rmSync(lock);
  }

  /** Every process of the server stands still; connections stay open, and new ones get no answer. */
  freeze(): void {
    const seen = new Set<number>();
    const { pid } = this.#postmaster ?? {};
    if (pid === undefined) throw new Error("The server does not run");
    signalAll([pid], "SIGSTOP"); // first, so that no more come
    for (let fresh = processesIn(this.data); fresh.length > 0; ) {
      signalAll(fresh, "SIGSTOP");
      for (const each of fresh) seen.add(each);
      fresh = processesIn(this.data).filter((each) => !seen.has(each));
    }
  }

  thaw(): void {
    signalAll(processesIn(this.data), "SIGCONT");
  }

  /** A cold copy: of a server that was stopped. */
  copy(): string {
    if (processesIn(this.data).length > 0) throw new Error("Only a server that was stopped can be copied");
    const target = join(mkdtempSync(join(this.#home, "copy-")), "data");
    copy(this.data, target);
    return target;
  }

  /** Puts a copy in the place of the server's files; it must be stopped. */
  putBack(files: string): void {
    rmSync(this.data, { recursive: true });
    copy(files, this.data);
  }

  /** Another server that follows this one, which is restarted for it. `settings` are this one's from then on. */
  async standby(settings: Settings = {}): Promise<OwnServer> {
    await this.stop();
    const standby = await OwnServer.from(this.data, this.version, {
      primary_conninfo: `host=127.0.0.1 port=${this.port} user=postgres`,
    });
    standby.becomeStandby();
    await this.start(settings);
    await standby.start();
    await eventually("the standby follows", async () => {
      const [row] = await this.query("select from pg_stat_replication where state = 'streaming'");
      return row;
    });
    return standby;
  }

  /** At its next start it only reads, until it is promoted. */
  becomeStandby(): void {
    writeFileSync(join(this.data, "standby.signal"), "");
  }

  /** Resolves when the server writes, on a timeline of its own. */
  async promote(): Promise<void> {
    // As pg_ctl does, and not by a query: what is replayed may hold a lock of a catalog, which no query gets past.
    writeFileSync(join(this.data, "promote"), "");
    this.#postmaster?.kill("SIGUSR1");
    await eventually("the server writes", async () => {
      const rows = await this.query<{ reads: boolean }>("select pg_is_in_recovery() as reads").catch(
        (error: { code?: string }) => {
          if (error.code !== CONFLICT_WITH_RECOVERY) throw error;
          return [];
        },
      );
      return rows[0]?.reads === false;
    });
  }

  /** Lets connections in from a network, besides this machine. */
  async trust(network: string): Promise<void> {
    appendFileSync(join(this.data, "pg_hba.conf"), `host all all ${network} trust\n`);
    await this.query("select pg_reload_conf()");
  }

  async #gone(): Promise<void> {
    await eventually(
      "all processes of the server have ended",
      () => processesIn(this.data).length === 0,
      10_000,
    );
    this.#postmaster = undefined;
  }

  async #close(): Promise<void> {
    this.thaw();
    this.#postmaster?.kill("SIGQUIT");
    await this.#gone().catch(() => signalAll(processesIn(this.data), "SIGKILL"));
    if (this.#segment !== undefined) spawnSync("ipcrm", ["-m", this.#segment], { stdio: "ignore" });
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** With the owner kept: as root, the files are another user's. */
function copy(from: string, to: string): void {
  const { status, stderr } = spawnSync("cp", ["-a", from, to], { encoding: "utf8" });
  if (status !== 0) throw new Error(`cp: ${stderr}`);
}

/**
 * Below those from which the system takes ports for connections: while the server is down, one of them could meet itself
 * on the server's port.
 */
async function quietPort(): Promise<number> {
  for (;;) {
    const port = await freePort(20_000 + Math.floor(Math.random() * 12_000));
    if (port !== undefined) return port;
  }
}
