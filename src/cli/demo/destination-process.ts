/**
 * The demo's two destinations, in a process of their own with a SQLite file of their own; they know nothing of the
 * store.
 *
 * `POST /account` is *fenced*: it keeps a mark per line and refuses a lower generation (D1, D2).
 * `POST /payment` is *deduplicated* and not fenced: it asks for no token, and answers a repeated request from the first
 * one's record (D4). It says on start-up, by IPC, where it listens.
 */

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { admit, type Mark } from "../../protocol/destination-rule.ts";
import { generation, owner } from "../../protocol/identity.ts";
import { type Database, loadDriver } from "../../stores/sqlite/driver.ts";

export interface AccountWrite {
  readonly line: string;
  readonly generation: number;
  readonly owner: string;
  readonly account: string;
  readonly cents: number;
}

export interface AccountAnswer {
  readonly outcome: "applied" | "refused";
  /** The mark after the request; a refusal carries it too (D6). */
  readonly mark: number;
}

export interface PaymentAnswer {
  readonly outcome: "applied" | "replayed" | "mismatch";
  /** The first answer, byte for byte. */
  readonly answer: string;
}

/** One request to the account, as it was decided. */
export interface Decision {
  readonly generation: number;
  readonly outcome: "applied" | "refused";
  /** After the request. */
  readonly mark: number;
}

/** What really happened there, for the demo's last checks. */
export interface DestinationFacts {
  readonly balanceCents: number;
  readonly decisions: readonly Decision[];
  readonly payments: number;
}

const SCHEMA = `
  pragma journal_mode = wal;
  create table mark (line text primary key, generation integer not null, owner text not null);
  create table account (id text primary key, balance integer not null);
  create table decision (id integer primary key, generation integer not null, outcome text not null, mark integer not null);
  create table payment (key text primary key, request text not null, answer text not null);
`;

/** D1: compare, raise and write are one durable transaction. A check in front of the write would not be a fence. */
function writeAccount(database: Database, write: AccountWrite): AccountAnswer {
  return transaction(database, () => {
    const row = database
      .prepare("select generation, owner from mark where line = $line")
      .get({ line: write.line });
    const mark: Mark | undefined =
      row === undefined
        ? undefined
        : { generation: generation(Number(row["generation"])), owner: owner(String(row["owner"])) };
    const token = { generation: generation(write.generation), owner: owner(write.owner) };
    const admission = admit(mark, token);
    const answer: AccountAnswer = admission.admitted
      ? { outcome: "applied", mark: write.generation }
      : { outcome: "refused", mark: mark?.generation ?? 0 };
    database
      .prepare("insert into decision (generation, outcome, mark) values ($generation, $outcome, $mark)")
      .run({ generation: write.generation, ...answer });
    if (!admission.admitted) return answer;

    if (admission.raises) {
      database
        .prepare(
          `insert into mark (line, generation, owner) values ($line, $generation, $owner)
             on conflict (line) do update set generation = excluded.generation, owner = excluded.owner`,
        )
        .run({ line: write.line, generation: write.generation, owner: write.owner });
    }
    database
      .prepare(
        `insert into account (id, balance) values ($id, $cents)
           on conflict (id) do update set balance = balance + excluded.balance`,
      )
      .run({ id: write.account, cents: write.cents });
    return answer;
  });
}

/** D4: the key, without any generation, decides whether a request is a repeat. */
function pay(database: Database, key: string, request: string): PaymentAnswer {
  return transaction(database, () => {
    const first = database.prepare("select request, answer from payment where key = $key").get({ key });
    if (first !== undefined) {
      const same = first["request"] === request;
      return { outcome: same ? "replayed" : "mismatch", answer: same ? String(first["answer"]) : "" };
    }
    const count = Number(database.prepare("select count(*) as n from payment").get()?.["n"]);
    const answer = JSON.stringify({ receipt: `receipt-${count + 1}` });
    database
      .prepare("insert into payment (key, request, answer) values ($key, $request, $answer)")
      .run({ key, request, answer });
    return { outcome: "applied", answer };
  });
}

function facts(database: Database): DestinationFacts {
  const one = (sql: string): number => Number(database.prepare(sql).get()?.["value"]);
  return {
    balanceCents: one("select coalesce(sum(balance), 0) as value from account"),
    payments: one("select count(*) as value from payment"),
    decisions: database
      .prepare("select generation, outcome, mark from decision order by id")
      .all() as unknown as Decision[],
  };
}

function transaction<T>(database: Database, body: () => T): T {
  database.exec("begin immediate");
  try {
    const result = body();
    database.exec("commit");
    return result;
  } catch (error) {
    database.exec("rollback");
    throw error;
  }
}

function answer(database: Database, request: IncomingMessage, body: string): unknown {
  if (request.url === "/account") return writeAccount(database, JSON.parse(body) as AccountWrite);
  if (request.url === "/payment") return pay(database, String(request.headers["idempotency-key"]), body);
  return facts(database);
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const [path = ""] = process.argv.slice(2);
const { Database: DatabaseSync } = await loadDriver();
const database = new DatabaseSync(path);
database.exec(SCHEMA);

const server = createServer((request, response) => {
  text(request)
    .then((body) => {
      const answered = answer(database, request, body) as { readonly outcome?: string };
      response.writeHead(answered.outcome === "refused" ? 412 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(answered));
    })
    .catch((error: unknown) => {
      response.writeHead(500);
      response.end(String(error));
    });
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on("disconnect", () => process.exit(0));
// A terminal's Ctrl-C reaches every process of the group; the narrator alone decides when the demo is over.
process.on("SIGINT", () => {});
