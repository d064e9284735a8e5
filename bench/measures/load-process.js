// A worker process for measures that go on for a while: it tells how far it has come, and what it has used.

import { nowMs, systemNamed } from "../systems/system.js";

const REPORT_EVERY_MS = 10;

/**
 * @typedef {object} Load
 * @property {string} system
 * @property {import("../systems/system.js").Place} place
 * @property {number} concurrency
 * @property {readonly string[]} [queues] instead of the one that jobs go to by themselves
 * @property {number | "never"} [handlerMs] how long a handler takes; without, it does nothing
 * @property {number} [markEvery] tells when so many more have begun, the first one too
 * @property {{ afterMs: number, forMs: number, jobs: number }} [window] what is done is told of a time that begins so long
 *   after the first handler, and ends once all of these jobs have begun, if that is sooner
 * @property {boolean} [reclaims] tells of each claim of a lapsed lease
 *
 * @typedef {object} Usage what a window has come to
 * @property {number} tookMs
 * @property {number} begun handlers
 * @property {number} usefulMs sum over the handlers of how long each ran meanwhile, but no longer than a handler takes
 * @property {number} cpuMs of the process, all its threads
 * @property {number} peakMb
 */

/** @type {Load} */
const { system, place, concurrency, queues, handlerMs, markEvery, window, reclaims } = JSON.parse(
  process.argv[2] ?? "",
);
const { open } = await systemNamed(system);
const opened = await open(place);
const tell = (/** @type {Record<string, unknown>} */ news) => process.send?.(news);

let begun = 0;
let reported = 0;
/** When each began, for a window. @type {number[]} */
const beganAtMs = [];
let openedAtMs = 0;
let begunBefore = 0;
let cpuBefore = process.cpuUsage();

function begin() {
  begun++;
  if (window !== undefined) {
    if (begun === 1) setTimeout(openWindow, window.afterMs);
    if (begun === window.jobs) closeWindow();
    beganAtMs.push(nowMs());
  }
  if (markEvery !== undefined && (begun % markEvery === 0 || begun === 1))
    tell({ kind: "mark", n: begun, atMs: nowMs() });
  if (handlerMs === undefined) return undefined;
  return new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
    if (handlerMs !== "never") setTimeout(resolve, handlerMs);
  });
}

function openWindow() {
  openedAtMs = nowMs();
  begunBefore = begun;
  cpuBefore = process.cpuUsage();
  tell({ kind: "opened" });
  setTimeout(closeWindow, window?.forMs);
}

function closeWindow() {
  if (openedAtMs === 0) return;
  const atMs = nowMs();
  const { user, system: kernel } = process.cpuUsage(cpuBefore);
  const usefulMs = (/** @type {number} */ began) =>
    Math.max(0, Math.min(began + Number(handlerMs), atMs) - Math.max(began, openedAtMs));
  tell({
    kind: "window",
    tookMs: atMs - openedAtMs,
    begun: begun - begunBefore,
    usefulMs: beganAtMs.reduce((sum, began) => sum + usefulMs(began), 0),
    cpuMs: (user + kernel) / 1_000,
    peakMb: process.resourceUsage().maxRSS / 1_024,
  });
  openedAtMs = 0;
}

process.on("message", (told) => {
  if (told === "memory") tell({ kind: "memory", peakMb: process.resourceUsage().maxRSS / 1_024 });
  if (told === "stop") void opened.close().then(() => process.exit());
  if (told !== "go") return;
  opened.work({
    concurrency,
    lasting: handlerMs !== undefined,
    ...(queues && { queues }),
    onStart: begin,
    ...(reclaims && { onReclaim: (/** @type {number} */ lateMs) => tell({ kind: "reclaimed", lateMs }) }),
  });
});
process.on("disconnect", () => process.exit());
setInterval(() => {
  if (begun === reported) return;
  reported = begun;
  tell({ kind: "begun", begun });
}, REPORT_EVERY_MS);
tell({ kind: "ready" });
