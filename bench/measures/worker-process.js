import { nowMs, systemNamed } from "../systems/system.js";

const REPORT_EVERY_MS = 20;

const {
  system,
  concurrency,
  report,
  results,
  pollMs,
  place,
  workers = 1,
} = JSON.parse(process.argv[2] ?? "");
const { open } = await systemNamed(system);
/** Each with connections of its own, as if it were in a process of its own. */
const opened = await Promise.all(Array.from({ length: workers }, () => open(place)));

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

process.on("message", (message) => {
  if (message === "go")
    for (const one of opened) one.work({ concurrency, results, pollMs, ...doors[report] });
  else process.send?.({ kind: "seen", seen: opened.map(({ seen }) => seen) });
});
process.on("disconnect", () => process.exit());
setInterval(() => {
  if (jobs === reported) return;
  reported = jobs;
  process.send?.({ kind: "done", jobs, lastAtMs });
}, REPORT_EVERY_MS);
process.send?.({ kind: "ready" });
