// An idle worker in a process of its own: node sleeper.js ADDRESS SCHEMA POLL_MS

import { defineJob, Leasehold } from "leasehold";
import { postgres } from "leasehold/postgres";

const [address = "", schema = "", pollMs = ""] = process.argv.slice(2);
const leasehold = new Leasehold({ store: postgres({ connectionString: address, schema }), log: () => {} });
const job = defineJob({ name: "job", run: () => void process.send?.({ what: "began" }) });
leasehold.work([job], { pollMs: Number(pollMs) });
