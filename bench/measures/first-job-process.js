import { inputOf, nowMs, systemNamed } from "../systems/system.js";

const { system, place } = JSON.parse(process.argv[2] ?? "");
const { open } = await systemNamed(system);

const beganMs = nowMs();
const opened = await open(place);
await opened.work({ concurrency: 10, onStart: () => void process.send?.(nowMs() - beganMs) });
await opened.add(inputOf(0));
process.on("disconnect", () => process.exit());
