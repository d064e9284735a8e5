/** Connections of our own end before whoever closes goes on: else a process that looks at what it has open finds them. */

import type { Timers } from "../clock/world.ts";

/** How long ending waits for connections to end, ms. */
const WITHIN_MS = 2_000;

export interface EndingClient {
  on(event: "connect" | "end", listener: () => void): unknown;
  /** Its socket keeps the process alive no longer. */
  unref(): unknown;
}

/** What is used of a `pg.Pool`. */
export interface EndingPool {
  end(): Promise<void>;
}

/** What is used of the package `pg`. */
export interface EndingPg<Pool extends EndingPool> {
  readonly Pool: new (config: Record<string, unknown>) => Pool;
  /** Makes each an `EndingClient`, though the types of pg leave `unref` out. */
  readonly Client: new (
    config: Record<string, unknown>,
  ) => unknown;
}

/** What a pool itself destroys when a connection is not made in time. */
interface ConnectingClient extends EndingClient {
  readonly connection: { readonly stream: { destroy(): void } };
}

/**
 * Waits until `ended`. A connection whose server does not answer says goodbye into the void: after 2 s those that
 * `remain` are left to themselves, and the process does not live on for them.
 */
export async function untilEnded(
  ended: Promise<unknown>,
  remain: Iterable<EndingClient>,
  timers: Timers,
): Promise<void> {
  const over = new AbortController(); // the timer must not outlast the wait: it would keep the process alive
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
    over.abort();
  };
  await Promise.race([ended.then(end, end), timers.sleep(WITHIN_MS, over.signal)]);
  if (hasEnded) return;
  for (const client of remain) client.unref();
}

/** The end of a pool of our own: `pool.end()` is done before the pool's connections are. */
export class PoolEnd {
  readonly #timers: Timers;
  /** Also those that have not connected yet. */
  readonly #clients = new Set<EndingClient>();
  readonly #connecting = new Set<ConnectingClient>();
  #pool: EndingPool | undefined;
  /** Of the wait for the last one. */
  #gone: (() => void) | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** The pool that it is to end. */
  open<Pool extends EndingPool>({ Pool, Client }: EndingPg<Pool>, config: Record<string, unknown>): Pool {
    const opened = (client: ConnectingClient): void => this.#opened(client);
    class Known extends (Client as new (config: Record<string, unknown>) => ConnectingClient) {
      constructor(settings: Record<string, unknown>) {
        super(settings);
        opened(this);
      }
    }
    const pool = new Pool({ ...config, Client: Known });
    this.#pool = pool;
    return pool;
  }

  async end(): Promise<void> {
    await untilEnded(this.#allEnded(), this.#clients, this.#timers);
    // The pool's own timer waits for each, and keeps the process alive: nobody has sent anything over it.
    for (const { connection } of this.#connecting) connection.stream.destroy();
  }

  #opened(client: ConnectingClient): void {
    this.#clients.add(client);
    this.#connecting.add(client);
    client.on("connect", () => this.#connecting.delete(client));
    client.on("end", () => {
      this.#clients.delete(client);
      this.#connecting.delete(client);
      if (this.#clients.size === 0) this.#gone?.();
    });
  }

  async #allEnded(): Promise<void> {
    const gone = new Promise<void>((resolve) => {
      this.#gone = resolve;
    });
    await this.#pool?.end();
    if (this.#clients.size > 0) await gone;
  }
}
