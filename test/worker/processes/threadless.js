// Its renewer thread cannot start: renewal must go on inline, and the log say so.

import { defineJob, Leasehold } from "leasehold";
import { sqlite } from "leasehold/sqlite";
import { path, renewedOnce, tell } from "./support.js";

const store = sqlite(path);
const missing = new URL("./no-such-module.js", import.meta.url);
Object.defineProperty(store, "renewalThread", { value: { module: missing, options: {} } });
const leasehold = new Leasehold({ store, log: ({ kind }) => tell("log", kind) });
const job = defineJob({
  name: "job",
  leaseMs: 1_000,
  async run({ lease }) {
    await renewedOnce(lease);
    return "renewed";
  },
});
const answer = await leasehold.enqueue(job);
leasehold.work([job]);
tell("result", await leasehold.result(answer));
await leasehold.close();
process.disconnect();
