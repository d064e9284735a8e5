/**
 * The command line's own services, in a process of their own with a SQLite file of their own; they know nothing of the store.
 *
 * `POST /payment` is *deduplicated* and not fenced: it asks for no token, and answers a repeated request from the first
 * one's record (D4). `POST /account` is fenced, and the account where that one is an HTTP service. It says
 * on start-up, by IPC, where it listens.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type HttpHandle, httpGuard, nodeHandler } from "../../destinations/http/index.ts";
import { type GuardTx, sqliteGuard } from "../../destinations/sqlite/index.ts";
import { openDatabase } from "../../stores/sqlite/index.ts";
import type { Entry } from "./account.ts";

export interface PaymentAnswer {
  readonly outcome: "applied" | "replayed" | "mismatch";
  /** The first answer, byte for byte. */
  readonly answer: string;
}

const [path = ""] = process.argv.slice(2);
const database = await openDatabase(path);
database.exec(`
  pragma journal_mode = wal;
  create table entry (line text not null, generation integer not null, cents integer not null);
  create table payment (key text primary key, request text not null, answer text not null);
`);
const guarded = httpGuard({ guard: sqliteGuard(database) });

const credit: HttpHandle<GuardTx> = async (request, tx) => {
  const { line, generation, cents } = (await request.json()) as Entry;
  await tx.query("insert into entry values ($1, $2, $3)", [line, generation, cents]);
  return Response.json({ cents }, { status: 201 });
};

/** D4: the key, without any generation, decides whether a request is a repeat. All of it in one turn of the event loop. */
function pay(key: string, request: string): PaymentAnswer {
  const first = database.prepare("select request, answer from payment where key = $key").get({ key });
  if (first !== undefined) {
    const same = first["request"] === request;
    return { outcome: same ? "replayed" : "mismatch", answer: same ? String(first["answer"]) : "" };
  }
  const answer = JSON.stringify({ receipt: `receipt-${payments() + 1}` });
  database
    .prepare("insert into payment (key, request, answer) values ($key, $request, $answer)")
    .run({ key, request, answer });
  return { outcome: "applied", answer };
}

function payments(): number {
  return Number(database.prepare("select count(*) as n from payment").get()?.["n"]);
}

async function answer(request: Request): Promise<Response> {
  switch (new URL(request.url).pathname) {
    case "/account":
      return guarded(request, credit);
    case "/entries":
      return Response.json(database.prepare("select * from entry order by rowid").all());
    case "/payment":
      return Response.json(pay(String(request.headers.get("idempotency-key")), await request.text()));
    default:
      return Response.json({ payments: payments() });
  }
}

const server = createServer(nodeHandler(answer));
server.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on("disconnect", () => process.exit(0));
// A terminal's Ctrl-C reaches every process of the group; the command alone decides when it is over.
process.on("SIGINT", () => {});
