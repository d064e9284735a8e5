// One of several processes that add at the same time. It is warm before it says that it is ready, and goes on adding,
// unmeasured, until it is ended: the others may need a moment longer.

import { inputOf, systemNamed } from "../systems/system.js";
import { addFor } from "./add-for.js";

const { system, place, callers, warmMs, measuredMs } = JSON.parse(process.argv[2] ?? "");
const opened = await (await systemNamed(system)).open(place);
const add = (n) => opened.add(inputOf(n));
await addFor(warmMs, callers, add);

process.once("message", async () => {
  const { rate } = await addFor(measuredMs, callers, add);
  process.send?.({ kind: "added", rate });
  for (;;) await addFor(measuredMs, callers, add);
});
process.on("disconnect", () => process.exit());
process.send?.({ kind: "ready" });
