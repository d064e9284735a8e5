// With its defaults but for `synchronous`, which the mode says (the default is full).

import { sqlite } from "../../dist/stores/sqlite/index.js";
import { openOn, version } from "./leasehold.js";

/** @param {import("./system.js").Place} place */
const store = ({ address, mode }) =>
  sqlite({ path: address, synchronous: /** @type {"full" | "normal"} */ (mode) });

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    name: "leasehold on SQLite",
    version,
    on: "sqlite",
    takesPart: ["enqueue", "drain", "wake-up"],
    doors: ["bulk", "results", "seen", "lasting"],
    jobsToDrain: { full: 60_000, normal: 100_000 },
    atOnce: true,
    isFastest: true,
    row: {
      table: "leasehold_job",
      waiting: "select 1 from leasehold_job where phase = 1 and owner is null",
      given: {
        job_id: "substr(s.job_id, 1, 14) || '7000-8000-' || printf('%012x', g.n)",
        input: `replace(s.input, '"n":0,', '"n":' || g.n || ',')`,
        created_at: "s.created_at",
      },
    },
    store,
    open: (place) => openOn(store(place), place),
  },
];
