import type { PgNotice, PooledClient } from "./driver.ts";
import { isUnsynced, leavesConnection } from "./failure.ts";

/** Around an error of a statement of ours, so that it is told apart from what other code threw. */
export class QueryFailed extends Error {
  constructor(cause: unknown) {
    super("a statement of the store failed", { cause });
  }
}

/** One use of a pooled connection: what is listened for meanwhile, and its one release. */
export class Use {
  readonly client: PooledClient;
  /** `by itself`: each statement commits. `to come`: a transaction is open. `sent`: its COMMIT is under way. */
  commit: "by itself" | "to come" | "sent" = "by itself";
  /** The warning that a commit did not reach its synchronous standby (C11). */
  unsynced: Error | undefined;
  isReleased = false;
  // A connection that breaks while it is checked out tells so by an event as well, which would end the process.
  readonly #onError = (): void => {};
  readonly #onNotice = (notice: PgNotice): void => {
    if (isUnsynced(notice)) this.unsynced = new Error(notice.message ?? "not synchronous");
  };

  constructor(client: PooledClient) {
    this.client = client;
    client.on("error", this.#onError);
    client.on("notice", this.#onNotice);
  }

  async run<T>(query: Promise<T>): Promise<T> {
    try {
      return await query;
    } catch (error) {
      throw new QueryFailed(error);
    }
  }

  /** Somebody else's statement: its errors are theirs to see, but a lost connection is the store's. */
  async runForeign<T>(query: Promise<T>): Promise<T> {
    try {
      return await query;
    } catch (error) {
      throw leavesConnection(error) ? error : new QueryFailed(error);
    }
  }

  /** @param isInOrder false closes the connection */
  release(isInOrder: boolean): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.client.removeListener("notice", this.#onNotice);
    if (isInOrder) this.client.removeListener("error", this.#onError); // else it may yet tell of its end
    this.client.release(!isInOrder);
  }
}
