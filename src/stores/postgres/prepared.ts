import { createHash } from "node:crypto";
import type { PgClient } from "./driver.ts";
import { forgotPrepared } from "./failure.ts";
import type { Texts } from "./statements.ts";

/**
 * Which connections keep statements prepared. Planning is most of what a small claim costs, so each statement is
 * prepared under a name once for each connection; but a pooler may give every transaction another server process,
 * which has never heard of the name. So only a connection is asked for it that proves to lead to one process: the one
 * whose number it was told at its start. Poolers tell a number of their own.
 *
 * A name is made of the text, so that it can never stand for another statement. Where a prepared statement is lost all
 * the same (`DISCARD ALL` on a pool that is shared with other code), the call is repeated and that connection does without.
 */
export class Prepared {
  readonly #texts: Texts;
  readonly #isOurs: boolean;
  readonly #direct = new WeakMap<PgClient, boolean>();
  readonly #names = new Map<string, string>();

  /** @param isOurs whether the pool is the store's own: a caller's connections are left as they are */
  constructor(texts: Texts, isOurs: boolean) {
    this.#texts = texts;
    this.#isOurs = isOurs;
  }

  /** Undefined while nothing is known of the connection: then `look` comes first. */
  isDirect(client: PgClient): boolean | undefined {
    return this.#direct.get(client);
  }

  /** One round trip, once for each connection. */
  async look(client: PgClient): Promise<void> {
    const { processID } = client;
    if (typeof processID !== "number") {
      this.#direct.set(client, false);
      return;
    }
    const values = [processID, this.#isOurs];
    const { rows } = await client.query({ text: this.#texts.get("look at connection", values), values });
    this.#direct.set(client, rows[0]?.direct === true);
  }

  /** The name under which `text` is to be prepared; undefined for no name. */
  nameOn(client: PgClient, text: string): string | undefined {
    if (this.#direct.get(client) !== true) return undefined;
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `leasehold_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
      this.#names.set(text, name);
    }
    return name;
  }

  /** Whether the error says that the server had no such statement, or an outdated one: nothing was executed. */
  lost(client: PgClient, error: unknown): boolean {
    if (this.#direct.get(client) !== true || !forgotPrepared(error)) return false;
    this.#direct.set(client, false);
    return true;
  }
}
