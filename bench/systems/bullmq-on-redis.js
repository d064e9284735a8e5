// BullMQ on Redis, with an append-only file synced each second: what was acknowledged in the last second before a crash can
// be lost, which is not so of any other system in this table. As it comes it keeps what has ended; tuned, it does not.

import { openOn } from "./bullmq.js";
import { versions } from "./versions.js";

/** @type {Omit<import("./system.js").System, "name" | "takesPart" | "open">} */
const common = {
  version: versions.bullmq,
  on: "redis",
  doors: ["bulk", "results", "lasting"],
  jobsToDrain: { default: 40_000 },
  atOnce: true,
  unfinishedLists: ["{schema}:noop:wait", "{schema}:noop:active"],
};

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    ...common,
    name: "bullmq on Redis",
    settings: "defaults but for the concurrency, which would be 1",
    takesPart: ["enqueue", "drain", "wake-up"],
    open: async (place) => open(place, {}),
  },
  {
    ...common,
    name: "bullmq on Redis tuned",
    settings: "removeOnComplete",
    takesPart: ["drain"],
    isFastest: true,
    open: async (place) => open(place, { removeOnComplete: true }),
  },
];

function open({ redis, schema }, ofJobs) {
  const { hostname: host, port } = new URL(redis ?? "");
  return openOn(
    { connection: { host, port: Number(port), maxRetriesPerRequest: null }, prefix: schema },
    undefined,
    ofJobs,
  );
}
