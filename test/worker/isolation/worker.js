// A worker process with isolated jobs. argv: file of the database, graceMs

import { Leasehold } from "leasehold";
import { sqlite } from "leasehold/sqlite";
import * as jobs from "./jobs.js";

const [, , path = "", graceMs] = process.argv;
const leasehold = new Leasehold({ store: sqlite(path), log: () => {} });
const worker = leasehold.work(Object.values(jobs), { graceMs: Number(graceMs) });
worker.on("terminated", ({ reason, pid }) => process.send?.({ what: "terminated", detail: { reason, pid } }));
worker.on("retrying", ({ error }) => process.send?.({ what: "retrying", detail: String(error) }));
worker.on("lost", () => process.send?.({ what: "lost" }));
