import { eventually } from "./eventually.ts";

/** What `pg_stat_activity` tells of one connection, from the server's side. */
export interface Backend {
  readonly pid: number;
  /** Its `application_name`. */
  readonly name: string;
  readonly state: "active" | "idle" | "idle in transaction" | string;
  readonly isWaitingForLock: boolean;
  /** The present statement, or the last one. */
  readonly query: string;
}

export type BackendMatch = (backend: Backend) => boolean;

type Query = (text: string, params?: unknown[]) => Promise<Record<string, unknown>[]>;

/** The connections of one user, which they are told from others' by: looked at and ended from beside. */
export class Backends {
  readonly #query: Query;
  readonly #user: string;

  constructor(query: Query, user: string) {
    this.#query = query;
    this.#user = user;
  }

  async all(): Promise<readonly Backend[]> {
    const rows = await this.#query(
      `select pid, application_name as name, state, query, wait_event_type = 'Lock' as is_waiting
         from pg_stat_activity where usename = $1 and backend_type = 'client backend' order by pid`,
      [this.#user],
    );
    return rows.map((row) => ({
      pid: Number(row["pid"]),
      name: String(row["name"]),
      state: String(row["state"]),
      isWaitingForLock: row["is_waiting"] === true,
      query: String(row["query"]),
    }));
  }

  /** Ends every connection that matches, as a restart or an operator would, once there is one; resolves when they are gone. */
  async kill(what: string, match: BackendMatch): Promise<void> {
    const doomed = await eventually(what, async () => {
      const found = (await this.all()).filter(match);
      return found.length > 0 && found.map(({ pid }) => pid);
    });
    await this.#query("select pg_terminate_backend(pid) from unnest($1::integer[]) pid", [doomed]);
    await eventually(`the end of ${what}`, async () =>
      (await this.all()).every(({ pid }) => !doomed.includes(pid)),
    );
  }
}
