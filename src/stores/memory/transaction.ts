import { InvalidTransactionError } from "../../errors.ts";
import type { Tx } from "../store.ts";
import type { MemoryState } from "./state.ts";

/**
 * A transaction on a memory store: it works on a draft, which becomes the state at commit and is dropped by a rollback.
 * Other writers wait meanwhile; readers see the state from before.
 *
 * There is no SQL. `query` knows `put` (key, value) and `get` (key), which is all that it takes to see whether a caller's
 * writes share the fate of the jobs.
 */
export class MemoryTransaction implements Tx {
  readonly draft: MemoryState;
  readonly #end: (commit: boolean) => void;
  #open = true;

  constructor(draft: MemoryState, end: (commit: boolean) => void) {
    this.draft = draft;
    this.#end = end;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  async query<Row = Record<string, unknown>>(
    text: string,
    params: readonly unknown[] = [],
  ): Promise<{ readonly rows: Row[] }> {
    this.assertOpen();
    const [key, value] = params;
    if (text === "put") {
      this.draft.values.set(String(key), value);
      return { rows: [] };
    }
    if (text === "get") {
      const known = this.draft.values.has(String(key));
      return { rows: known ? [{ key, value: this.draft.values.get(String(key)) } as Row] : [] };
    }
    throw new InvalidTransactionError(`The memory store was given the statement ${JSON.stringify(text)}.`, {
      next: "It has no SQL: give `put` with [key, value] or `get` with [key], or use a store that has.",
    });
  }

  async commit(): Promise<void> {
    this.assertOpen();
    this.#open = false;
    this.#end(true);
  }

  /** Doing so twice, or after a commit, changes nothing. */
  async rollback(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#end(false);
  }

  assertOpen(): void {
    if (this.#open) return;
    throw new InvalidTransactionError("The transaction has ended.", { next: "Begin a new one." });
  }
}
