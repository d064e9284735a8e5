import { leavesConnection } from "./failure.ts";
import { QueryFailed, type Use } from "./use.ts";

/**
 * Connections of calls that were given up while a statement which commits by itself was under way. To close them would
 * not take the statement back; and where a server is slow because it has too much to do, a new connection for each call
 * that comes too late is the most of it. So they may be used again when the answer has come.
 */
export class Lingering {
  readonly #most: number;
  readonly #uses = new Set<Use>();

  /** @param most how many; of more, the one that has waited longest is closed */
  constructor(most: number) {
    this.#most = most;
  }

  has(use: Use): boolean {
    return this.#uses.has(use);
  }

  /** @param statement the last thing that was sent over it */
  add(use: Use, statement: Promise<unknown>): void {
    this.#uses.add(use);
    const isInOrder = statement.then(
      () => true,
      (error: unknown) => error instanceof QueryFailed && leavesConnection(error.cause),
    );
    void isInOrder.then((inOrder) => this.#end(use, inOrder));
    const [longest] = this.#uses;
    if (longest !== undefined && this.#uses.size > this.#most) this.#end(longest, false);
  }

  close(): void {
    for (const use of this.#uses) this.#end(use, false);
  }

  #end(use: Use, isInOrder: boolean): void {
    if (this.#uses.delete(use)) use.release(isInOrder);
  }
}
