import { eventually } from "../../../support/eventually.ts";
import type { OwnServer, Settings } from "../../../support/own-server.ts";
import type { AuditEntry } from "../record.ts";
import { auditOf } from "./postgres-audit.ts";
import type { Switches } from "./switches.ts";

export type Mode = "async" | "sync";

/** The client's and half of the workers' are pointed at a new primary at once, the others' later. */
export const WAYS = ["client", "first", "second"] as const;
export type WayName = (typeof WAYS)[number];

const SETTINGS: Readonly<Record<Mode, Settings>> = {
  async: {},
  sync: { synchronous_standby_names: "*" },
};

/** Transactions that began so many changes before others may end after them. */
const OPEN_CHANGES = 2_000;

/** A primary and its standby, which change places, and the ways that lead to them. */
export class Replicas {
  readonly mode: Mode;
  readonly switches: Switches<WayName>;
  /** What old primaries had committed that their successors never had, in the order of the failovers. */
  readonly lost: AuditEntry[] = [];
  #primary: OwnServer;
  #standby: OwnServer;

  private constructor(mode: Mode, primary: OwnServer, standby: OwnServer, switches: Switches<WayName>) {
    this.mode = mode;
    this.#primary = primary;
    this.#standby = standby;
    this.switches = switches;
  }

  static async of(mode: Mode, primary: OwnServer, switches: Switches<WayName>): Promise<Replicas> {
    return new Replicas(mode, primary, await primary.standby(SETTINGS[mode]), switches);
  }

  get primary(): OwnServer {
    return this.#primary;
  }

  get standby(): OwnServer {
    return this.#standby;
  }

  /** The standby writes from now on, on a timeline of its own. */
  async promote(): Promise<void> {
    const next = this.#standby;
    await next.promote();
    this.#standby = this.#primary;
    this.#primary = next;
  }

  /** Once more, as when the new primary is lost as well, but with nothing that it had written. */
  async promoteAgain(): Promise<void> {
    await this.#primary.stop();
    this.#primary.becomeStandby();
    await this.#primary.start();
    await this.#primary.promote();
  }

  /** The one that was primary works again, knowing of nothing. */
  async startZombie(): Promise<void> {
    await this.#standby.start(SETTINGS[this.mode]);
  }

  /** Keeps what the zombie has and its successor has not; it still runs. Answers how many changes that were. */
  async keepLost(): Promise<number> {
    const old = this.#standby;
    const [last] = await old.query("select max(seq) as seq, max(timeline) as timeline from chaos_audit");
    const fromSeq = Number(last?.["seq"] ?? 0) - OPEN_CHANGES;
    const timeline = Number(last?.["timeline"] ?? 0);
    const shipped = await this.#primary.query<{ seq: string }>(
      "select seq from chaos_audit where seq > $1 and timeline <= $2",
      [fromSeq, timeline],
    );
    const known = new Set(shipped.map(({ seq }) => Number(seq)));
    const lost = (await auditOf(old, fromSeq)).filter(({ seq }) => !known.has(seq));
    this.lost.push(...lost);
    return lost.length;
  }

  /** Whoever was primary before starts anew as a copy of the present one, which is down meanwhile, and follows it. */
  async pairUp(): Promise<void> {
    const [primary, standby] = [this.#primary, this.#standby];
    await primary.stop();
    standby.putBack(primary.data);
    standby.becomeStandby();
    await primary.start(SETTINGS[this.mode]);
    await standby.start({ primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres` });
    await eventually("the new standby follows", async () => {
      const [row] = await primary.query("select from pg_stat_replication where state = 'streaming'");
      return row !== undefined;
    });
  }
}
