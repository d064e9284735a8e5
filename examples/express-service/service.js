import { DatabaseSync } from "@photostructure/sqlite";
import express from "express";
import { httpGuard, nodeHandler } from "leasehold/destinations/http";

const database = new DatabaseSync("./billing.db");
database.exec("create table if not exists charge (account text, cents integer)");
const guarded = httpGuard({ database });

async function charge(request, tx) {
  const { account, cents } = await request.json();
  await tx.query("insert into charge values ($1, $2)", [account, cents]);
  const { rows } = await tx.query("select count(*) as receipt from charge");
  return Response.json(rows[0], { status: 201 });
}

export const answer = (request) => guarded(request, charge);

const app = express();
app.all("/charges", nodeHandler(answer));
app.use(express.json()); // whatever parses bodies comes after: the guard reads them itself
export const server = app.listen(Number(process.env.PORT ?? 0));
