// A counter in Redis that a job adds to. The first worker is frozen just before its write, for longer than its lease; the
// second takes the job over and adds. When the first wakes it writes, too, and is refused beside the counter.
//
//   node examples/redis-counter/start.js [redis://localhost:6379]
//
// The jobs are in a SQLite file of this run's own; `redis` or `ioredis` has to be installed.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Leasehold } from "leasehold";
import { sqlite } from "leasehold/sqlite";
import { counterGuard, depositJob } from "./deposit.js";

const url = process.argv[2] ?? "redis://localhost:6379";
const folder = mkdtempSync(join(tmpdir(), "redis-counter-"));
const store = join(folder, "jobs.db");
const guard = counterGuard(url);
const leasehold = new Leasehold({ store: sqlite(store) });

const probe = await guard.probe();
console.log(probe.isProven ? "The guard refuses stale tokens." : `The guard is not proven: ${probe.why}`);

const deposit = depositJob((lease, effect, commands) => guard.write(lease, effect, commands));
const account = `${process.pid}-${Date.now()}`; // of this run's own, so that it begins at 0
const answer = await leasehold.enqueue(deposit, { account, amount: 100 });

const frozen = fork(fileURLToPath(new URL("./frozen-worker.js", import.meta.url)), [store, url]);
process.once("exit", () => frozen.kill("SIGKILL"));
const [{ generation }] = await once(frozen, "message");
console.log(`Worker 1 has the job with generation ${generation}, and is frozen before its write.`);

const worker = leasehold.work([deposit]);
const result = /** @type {{ balance: number }} */ (await leasehold.result(answer, { timeoutMs: 30_000 }));
console.log(`Worker 2 took it over and made the balance ${result.balance}.`);

const heard = once(frozen, "message");
frozen.kill("SIGCONT");
const [{ refused }] = await heard;
console.log(`Worker 1 woke up and wrote. ${refused}`);

frozen.kill("SIGKILL");
await worker.stop();
await leasehold.close();
await guard.close();
rmSync(folder, { recursive: true });
