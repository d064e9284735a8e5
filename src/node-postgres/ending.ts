/** Connections of our own end before whoever closes goes on: else a process that looks at what it has open finds them. */

import type { Timers } from "../clock/world.ts";

/** How long ending waits for connections to end, ms. */
const WITHIN_MS = 2_000;

export interface EndingClient {
  /** Its socket keeps the process alive no longer. */
  unref(): unknown;
}

/** What is used of a `pg.Pool`. */
export interface EndingPool {
  end(): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: the types of pg leave `unref` out
  on(event: "connect" | "remove", listener: (client: any) => void): unknown;
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
  readonly #pool: EndingPool;
  readonly #timers: Timers;
  readonly #connected = new Set<EndingClient>();
  /** Of the wait for the last one. */
  #gone: (() => void) | undefined;

  /** To be made before the pool's first connection. */
  constructor(pool: EndingPool, timers: Timers) {
    this.#pool = pool;
    this.#timers = timers;
    pool.on("connect", (client: EndingClient) => this.#connected.add(client));
    pool.on("remove", (client: EndingClient) => {
      this.#connected.delete(client);
      if (this.#connected.size === 0) this.#gone?.();
    });
  }

  end(): Promise<void> {
    return untilEnded(this.#allEnded(), this.#connected, this.#timers);
  }

  async #allEnded(): Promise<void> {
    const gone = new Promise<void>((resolve) => {
      this.#gone = resolve;
    });
    await this.#pool.end();
    if (this.#connected.size > 0) await gone;
  }
}
