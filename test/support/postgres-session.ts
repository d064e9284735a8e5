import { connect, type Socket } from "node:net";
import {
  asksForAnswer,
  beginsSession,
  endsAnswer,
  isError,
  isInTransaction,
  MessageReader,
  StatementReader,
  type WireMessage,
} from "./postgres-wire.ts";

/** A statement on its way, and those that its transaction has had before it. */
export interface Sent {
  readonly text: string;
  readonly transaction: readonly string[];
}

export type StatementMatch = (sent: Sent) => boolean;

/** What is to be lost, once. */
export interface Loss {
  /** `request`: the server never hears of the statement. `reply`: it has done it, and the client never hears so. */
  readonly what: "request" | "reply";
  readonly of: StatementMatch;
  /** `reset`: both ends lose the connection. `silence`: both keep it, and nothing goes through any more. */
  readonly by: "reset" | "silence";
  readonly struck: () => void;
}

/** One client's way through the proxy to the server. */
export class ProxiedSession {
  readonly #here: Socket;
  readonly #there: Socket;
  /** Shared by all sessions of a proxy: who takes one away decides that it strikes. */
  readonly #losses: Set<Loss>;
  readonly #fromClient = new MessageReader("client");
  readonly #fromServer = new MessageReader("server");
  readonly #statements = new StatementReader();
  /** For each answer that the server owes: which loss is to strike it. */
  readonly #owed: (Loss | undefined)[] = [];
  #transaction: string[] = [];
  #toBeLost: Loss | undefined;
  #held: WireMessage[] = [];
  #isOpaque = false;
  #isSilent = false;

  constructor(here: Socket, server: { readonly host: string; readonly port: number }, losses: Set<Loss>) {
    this.#here = here;
    this.#there = connect(server.port, server.host);
    this.#losses = losses;
    const ways = [
      [this.#here, this.#there, (bytes: Buffer) => this.#heardClient(bytes)],
      [this.#there, this.#here, (bytes: Buffer) => this.#heardServer(bytes)],
    ] as const;
    for (const [from, to, heard] of ways) {
      from.setNoDelay(true);
      from.on("data", (bytes) => {
        if (!this.#isSilent) heard(bytes);
      });
      from.on("error", () => {});
      // A cut cable tells nobody that the other end has gone.
      from.on("close", () => {
        if (!this.#isSilent) to.destroy();
      });
    }
  }

  silence(): void {
    this.#isSilent = true;
  }

  end(): void {
    this.#isSilent = true;
    this.#here.destroy();
    this.#there.destroy();
  }

  #heardClient(bytes: Buffer): void {
    if (this.#isOpaque) {
      this.#there.write(bytes);
      return;
    }
    for (const message of this.#fromClient.push(bytes)) {
      if (message.kind === "" && !beginsSession(message)) this.#isOpaque = true;
      const text = this.#statements.runBy(message);
      if (text !== undefined) {
        const loss = this.#take("request", text);
        if (loss !== undefined) {
          this.#strike(loss);
          return;
        }
        this.#toBeLost ??= this.#take("reply", text);
        this.#transaction.push(text);
      }
      this.#there.write(message.bytes);
      if (!asksForAnswer(message)) continue;
      this.#owed.push(this.#toBeLost);
      this.#toBeLost = undefined;
    }
  }

  #heardServer(bytes: Buffer): void {
    if (this.#isOpaque) {
      this.#here.write(bytes);
      return;
    }
    for (const message of this.#fromServer.push(bytes)) {
      const loss = this.#owed[0];
      this.#held.push(message);
      if (endsAnswer(message)) {
        this.#owed.shift();
        if (!isInTransaction(message)) this.#transaction = [];
        if (loss !== undefined) {
          if (!this.#held.some(isError)) {
            this.#strike(loss);
            return;
          }
          this.#losses.add(loss); // the server has done nothing: it is for the next one
        }
      } else if (loss !== undefined) {
        continue;
      }
      this.#here.write(Buffer.concat(this.#held.map((held) => held.bytes)));
      this.#held = [];
    }
  }

  #take(what: Loss["what"], text: string): Loss | undefined {
    for (const loss of this.#losses) {
      if (loss.what !== what || !loss.of({ text, transaction: this.#transaction })) continue;
      this.#losses.delete(loss);
      return loss;
    }
    return undefined;
  }

  #strike(loss: Loss): void {
    this.#isSilent = true;
    if (loss.by === "reset") {
      this.#here.resetAndDestroy();
      this.#there.destroy();
    }
    loss.struck();
  }
}
