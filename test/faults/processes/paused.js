// Works on one job `job` that tries an effect each 5 ms, and whenever the test says "try": an append to a file that
// refuses nobody, behind the lease's own check, and a write to a destination that does refuse. After a pause of its process
// it tells what the first 100 ms were like. Arguments: address, { effects, data }.

import { appendFileSync } from "node:fs";
import { defineJob } from "leasehold";
import { sqliteGuard } from "leasehold/destinations/sqlite";
import { openDatabase } from "leasehold/sqlite";
import { given, openLeasehold, tell, tellAll } from "./support.js";

/** Longer than a busy machine lets anybody wait, shorter than the test stops this process. */
const PAUSED_MS = 4_000;
const guard = sqliteGuard(await openDatabase(given.data));
/** @type {import("leasehold").RunContext | undefined} */
let run;
let lastMs = performance.now();
/** @type {{ wokeMs: number, tries: { by: string }[], turns: number, abortedAfterTurns?: number, abortedAfterMs?: number, by?: string } | undefined} */
let wake;

/** @param {string} by */
function look(by) {
  const nowMs = performance.now();
  if (wake === undefined && nowMs - lastMs > PAUSED_MS) {
    const woke = { wokeMs: nowMs, tries: /** @type {{ by: string }[]} */ ([]), turns: 0, by };
    wake = woke;
    const countTurn = () => {
      woke.turns += 1;
      const hasBoth = ["timer", "message"].every((by) => woke.tries.some((one) => one.by === by));
      // A machine with much else to do may need longer for its first turns.
      if (!hasBoth || performance.now() - woke.wokeMs < 100) setImmediate(countTurn);
      else tell("awake", woke);
    };
    setImmediate(countTurn);
  }
  lastMs = nowMs;
}

/** @param {string} by */
async function tryEffect(by) {
  look(by);
  if (run === undefined) return;
  const note = { by, atMs: wake && performance.now() - wake.wokeMs, file: "written", guarded: "written" };
  wake?.tries.push(note);
  const { lease } = run;
  try {
    lease.assertTrusted();
    appendFileSync(given.effects, `${lease.token.generation}\n`);
  } catch (error) {
    note.file = /** @type {{ code: string }} */ (error).code;
  }
  note.guarded = await guard
    .write(lease, {}, (tx) => tx.query("insert into effect values ($1)", [lease.token.generation]))
    .then(
      () => "written",
      (error) => error.code,
    );
}

const job = defineJob({
  name: "job",
  async run(context) {
    run = context;
    tell("running", context.lease.token);
    await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
    look("abort");
    if (wake === undefined) return;
    wake.abortedAfterTurns = wake.turns;
    wake.abortedAfterMs = performance.now() - wake.wokeMs;
  },
});
setInterval(() => tryEffect("timer"), 5);
process.on("message", () => tryEffect("message"));
tellAll(openLeasehold().work([job], { concurrency: 1 }));
