/**
 * Where wake-ups from other processes arrive: LISTEN on a connection of its own. It proves itself before it is relied on
 * (a pooler takes LISTEN and delivers nothing), comes back after a loss, and asks a silent connection whether it is still
 * there. Whatever becomes of it, polling is what correctness rests on.
 */

import type { Timer, World } from "../../clock/world.ts";
import { untilEnded } from "../../node-postgres/ending.ts";
import type { PgConnection } from "./driver.ts";

/** Connecting, LISTEN and our own notification may take so long together, ms: a server that is silent then would never end it. */
const OPEN_WITHIN_MS = 15_000;
/** So long after it was sent our own notification is asked for, ms. */
const SELF_TEST_MS = 1_000;
/**
 * How often two connections are held against each other before they count as two. Of a pooler's two busy server
 * connections each look finds the same one half of the time; a direct connection is known at the first look.
 */
const LOOKS = 10;
/** A connection that has been silent for so long is asked for a sign of life, and has as long to give it, ms. */
const PROBE_EVERY_MS = 15_000;
/** Between two attempts to connect, ms: at first, and at most. */
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 10_000;

export interface ChannelOptions {
  readonly name: string;
  readonly world: World;
  connect(): PgConnection | Promise<PgConnection>;
  /** Notifies the channel over another connection. */
  notify(payload: string): Promise<void>;
  /** The process of the server that answers such another connection. */
  serverProcess(): Promise<number>;
  /** Called for each notification but our own to ourselves, and with undefined whenever some may have been missed. */
  onHeard(payload: string | undefined): void;
  /** Called once when notifications do not arrive here. */
  onUseless(): void;
}

export class Channel {
  readonly #options: ChannelOptions;
  #connection: PgConnection | undefined;
  /** Those that were given up and have not ended: a server that stands still does not answer their goodbye. */
  readonly #ending = new Map<PgConnection, Promise<void>>();
  #timer: Timer | undefined;
  #retryMs = FIRST_RETRY_MS;
  #closed = false;
  #test: string | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
    void this.#open();
  }

  /** Resolves when all of its connections have ended, as `untilEnded` does. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#drop();
    if (this.#ending.size === 0) return;
    const ended = Promise.all(this.#ending.values());
    await untilEnded(ended, this.#ending.keys(), this.#options.world.timers);
  }

  async #open(): Promise<void> {
    let connection: PgConnection | undefined;
    try {
      connection = await this.#options.connect();
      await this.#listenOn(connection);
    } catch {
      this.#lost(connection);
    }
  }

  async #listenOn(connection: PgConnection): Promise<void> {
    if (this.#closed) return; // closed before it was made, and it has not connected
    this.#connection = connection;
    this.#after(OPEN_WITHIN_MS, () => this.#lost(connection));
    // Without a listener its end would end the process.
    connection.on("error", () => this.#lost(connection));
    connection.on("end", () => this.#lost(connection));
    connection.on("notification", ({ payload }) => this.#heard(payload ?? ""));
    await connection.connect();
    // Not even tried there: LISTEN would stay with a connection that the pooler lends to others.
    if (await this.#isShared(connection)) return this.#giveUp(connection);
    await connection.query({ text: `listen ${this.#options.name}` });
    if (connection !== this.#connection) return;
    this.#options.onHeard(undefined);
    const test = `?${Math.floor(this.#options.world.random.next() * 1e9)}`;
    this.#test = test;
    await this.#options.notify(test);
    if (this.#test === test) this.#after(SELF_TEST_MS, () => this.#judge(connection, test));
  }

  /**
   * Who answers here, so long after our notification was sent, and has not delivered it, never will. Time alone proves
   * nothing: a server or an event loop that stood still meanwhile has it yet to deliver.
   */
  #judge(connection: PgConnection, test: string): void {
    this.#after(PROBE_EVERY_MS, () => this.#lost(connection));
    connection.query({ text: "select 1" }).then(
      () => {
        if (this.#test === test) this.#giveUp(connection);
      },
      () => this.#lost(connection),
    );
  }

  /**
   * Whether a pooler lends one server process to both connections in turn. It need not show, if others use it: then the
   * self-test finds out. A connection that says the process's true number has it for itself.
   */
  async #isShared(connection: PgConnection): Promise<boolean> {
    for (let n = 0; n < LOOKS; n += 1) {
      const { rows } = await connection.query({ text: "select pg_backend_pid() as pid" });
      const pid = Number(rows[0]?.pid);
      if (pid === connection.processID) return false;
      if (pid === (await this.#options.serverProcess())) return true;
    }
    return false;
  }

  #heard(payload: string): void {
    if (payload !== this.#test) {
      this.#options.onHeard(payload);
      return;
    }
    this.#test = undefined;
    this.#retryMs = FIRST_RETRY_MS;
    this.#after(PROBE_EVERY_MS, () => this.#probe());
  }

  #probe(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#after(PROBE_EVERY_MS, () => this.#lost(connection));
    connection.query({ text: "select 1" }).then(
      () => {
        if (connection === this.#connection) this.#after(PROBE_EVERY_MS, () => this.#probe());
      },
      () => this.#lost(connection),
    );
  }

  #lost(connection: PgConnection | undefined): void {
    if (this.#closed || connection !== this.#connection) return;
    this.#drop();
    this.#after(this.#retryMs * (0.5 + this.#options.world.random.next()), () => void this.#open());
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
  }

  #giveUp(connection: PgConnection): void {
    if (connection !== this.#connection) return;
    this.#timer?.cancel();
    this.#drop();
    this.#options.onUseless();
  }

  #drop(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#test = undefined;
    if (connection === undefined) return;
    const forget = (): void => void this.#ending.delete(connection);
    this.#ending.set(connection, connection.end().then(forget, forget));
  }

  #after(delayMs: number, fn: () => void): void {
    this.#timer?.cancel();
    if (!this.#closed) this.#timer = this.#options.world.timers.after(delayMs, fn, { background: true });
  }
}
