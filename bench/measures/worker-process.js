import { nowMs, systemNamed } from "../systems/system.js";

const REPORT_EVERY_MS = 20;

const { system, concurrency, report, place } = JSON.parse(process.argv[2] ?? "");
const opened = await systemNamed(system).open(place);

let jobs = 0;
let lastAtMs = 0;
let reported = 0;

const count = () => {
  jobs++;
  lastAtMs = nowMs();
};
const doors = {
  starts: { onStart: (n) => void process.send?.({ kind: "started", n, atMs: nowMs() }) },
  counts: { onStart: count },
  ends: { onStart: () => {}, onDone: count },
};

process.once("message", () => {
  opened.work({ concurrency, ...doors[report] });
});
process.on("disconnect", () => process.exit());
setInterval(() => {
  if (jobs === reported) return;
  reported = jobs;
  process.send?.({ kind: "done", jobs, lastAtMs });
}, REPORT_EVERY_MS);
process.send?.({ kind: "ready" });
