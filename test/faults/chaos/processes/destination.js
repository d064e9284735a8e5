// The process with the destinations `http`, behind our guard, and `blind`, behind nothing; both over one SQLite file.

import { createServer } from "node:http";
import { httpGuard, nodeHandler } from "leasehold/destinations/http";
import { openDatabase } from "leasehold/sqlite";
import { decisionRow, EFFECTS, INSERT_DECISION, TABLES } from "./decisions.js";
import { ABOUT_HEADER } from "./effects.js";
import { monotonicMs } from "./history-file.js";

const [, , path = "", ...hosts] = process.argv;
const database = await openDatabase(path);
database.exec("pragma journal_mode = wal; pragma synchronous = normal;");
database.exec(TABLES.sqlite);
const guarded = httpGuard({ database });

/** @param {readonly unknown[]} params */
const numbered = (params) => Object.fromEntries(params.map((value, i) => [`$${i + 1}`, value]));

/**
 * @param {import("./effects.js").About} about
 * @param {import("../record.ts").DestinationEntry["decision"]} decision
 * @param {string} answer
 */
function log(about, decision, answer) {
  const { destination, line, job, key, generation, owner } = about;
  const row = { atMs: monotonicMs(), decision, line, job, key, generation, owner, answer };
  database.prepare(INSERT_DECISION).all(numbered(decisionRow(destination, row)));
}

/**
 * @param {import("./effects.js").About} about
 * @param {string} sql
 */
function make({ job, generation, owner }, sql) {
  const [row] = database.prepare(sql).all(numbered([job, String(generation)]));
  return JSON.stringify({ by: generation, owner, ...row });
}

/** @param {Request} request */
async function answer(request) {
  const [, kind, step = ""] = new URL(request.url).pathname.split("/");
  const about = /** @type {import("./effects.js").About} */ (
    JSON.parse(request.headers.get(ABOUT_HEADER) ?? "{}")
  );
  const sql = EFFECTS[step] ?? "";
  if (kind === "blind") {
    const made = make({ ...about, job: `blind ${about.job}` }, sql);
    log(about, "applied", made);
    return new Response(made);
  }
  let isFresh = false;
  const response = await guarded(request, async (_, tx) => {
    const { rows } = await tx.query(sql, [about.job, String(about.generation)]);
    const made = JSON.stringify({ by: about.generation, owner: about.owner, ...Object(rows[0]) });
    await tx.query(
      INSERT_DECISION,
      decisionRow("http", { ...about, atMs: monotonicMs(), decision: "applied", answer: made }),
    );
    isFresh = true;
    return new Response(made);
  });
  const body = await response.text();
  if (response.ok && !isFresh) log(about, "duplicate", body);
  if (response.status === 409 && body.includes("urn:leasehold:stale-token")) log(about, "stale", "null");
  return new Response(body, response);
}

const handle = nodeHandler(answer, { onError: (error) => console.error(error) });
/** At each address the same port, so that this one service has one name. */
let port = 0;
for (const host of hosts) {
  const server = createServer(handle);
  await new Promise((resolve) => server.listen(port, host, () => resolve(undefined)));
  const address = server.address();
  if (typeof address === "object") port = address?.port ?? 0;
}
process.send?.({ what: "listening", detail: port });
// The controller is gone.
process.on("disconnect", () => process.exit());
