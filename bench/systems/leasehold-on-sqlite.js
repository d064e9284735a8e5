// With its defaults but for `synchronous`, which the mode says (the default is full).

import { sqlite } from "../../dist/stores/sqlite/index.js";
import { openOn, version } from "./leasehold.js";

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    name: "leasehold on SQLite",
    version,
    on: "sqlite",
    takesPart: ["enqueue", "drain", "wake-up"],
    doors: ["bulk", "results", "seen"],
    jobsToDrain: { full: 60_000, normal: 100_000 },
    atOnce: true,
    open: ({ address, mode, watched }) => openOn(sqlite({ path: address, synchronous: mode }), { watched }),
  },
];
