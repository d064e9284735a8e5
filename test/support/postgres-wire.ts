/** Messages of PostgreSQL's protocol, version 3, as far as it takes to know which statement an answer belongs to. */

export interface WireMessage {
  /** The letter of its kind; empty for what a client begins with, which has none. */
  readonly kind: string;
  /** All of it, as it came. */
  readonly bytes: Buffer;
}

/** Cuts one direction of a connection into messages. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0);
  /** Of the letter in front of the length. */
  #letters: 0 | 1;

  constructor(from: "client" | "server") {
    this.#letters = from === "client" ? 0 : 1;
  }

  push(bytes: Buffer): WireMessage[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const messages: WireMessage[] = [];
    for (;;) {
      const letters = this.#letters;
      if (this.#rest.length < letters + 4) return messages;
      const end = letters + this.#rest.readInt32BE(letters);
      if (this.#rest.length < end) return messages;
      messages.push({ kind: this.#rest.toString("latin1", 0, letters), bytes: this.#rest.subarray(0, end) });
      this.#rest = this.#rest.subarray(end);
      this.#letters = 1;
    }
  }
}

/** Whether a client's first message begins a plain session: no encryption, no cancelling of another one. */
export function beginsSession({ bytes }: WireMessage): boolean {
  return bytes.readInt32BE(4) === 196_608;
}

/** Follows which statement a client runs: sent as a whole (Query), or prepared (Parse) and then bound, once or often. */
export class StatementReader {
  readonly #prepared = new Map<string, string>();

  /** The text of the statement that is run with this message; undefined for messages that run none. */
  runBy({ kind, bytes }: WireMessage): string | undefined {
    if (kind === "Q") return textAt(bytes, 5);
    if (kind === "P") {
      const name = textAt(bytes, 5);
      this.#prepared.set(name, textAt(bytes, 5 + Buffer.byteLength(name) + 1));
    }
    if (kind !== "B") return undefined;
    return this.#prepared.get(textAt(bytes, bytes.indexOf(0, 5) + 1));
  }
}

/** Whether a client's message asks for an answer that ends with ReadyForQuery. */
export function asksForAnswer({ kind }: WireMessage): boolean {
  return kind === "" || kind === "Q" || kind === "S";
}

/** Whether a server's message ends an answer: for a statement by itself, its commit is done by then. */
export function endsAnswer({ kind }: WireMessage): boolean {
  return kind === "Z";
}

/** Of a message that ends an answer: whether the session is in a transaction. */
export function isInTransaction({ bytes }: WireMessage): boolean {
  return bytes.toString("latin1", 5, 6) !== "I";
}

export function isError({ kind }: WireMessage): boolean {
  return kind === "E";
}

function textAt(bytes: Buffer, start: number): string {
  return bytes.toString("utf8", start, bytes.indexOf(0, start));
}
