/** Connections of our own end before whoever closes goes on: else a process that looks at what it has open finds them. */

import type { Timers } from "../clock/world.ts";

/** How long ending waits for connections to end, ms. */
const WITHIN_MS = 2_000;

export interface EndingClient {
  on(event: "end", listener: () => void): unknown;
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
  #pool: EndingPool | undefined;
  /** Of the wait for the last one. */
  #gone: (() => void) | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** The pool that it is to end. */
  open<Pool extends EndingPool>({ Pool, Client }: EndingPg<Pool>, config: Record<string, unknown>): Pool {
    const opened = (client: EndingClient): void => this.#opened(client);
    class Known extends (Client as new (config: Record<string, unknown>) => EndingClient) {
      constructor(settings: Record<string, unknown>) {
        super(settings);
        opened(this);
      }
    }
    const pool = new Pool({ ...config, Client: Known });
    this.#pool = pool;
    return pool;
  }

  end(): Promise<void> {
    return untilEnded(this.#allEnded(), this.#clients, this.#timers);
  }

  #opened(client: EndingClient): void {
    this.#clients.add(client);
    client.on("end", () => {
      this.#clients.delete(client);
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
