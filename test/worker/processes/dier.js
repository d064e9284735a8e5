// Finishes a step, begins another, whose effect is a line in a file, and is killed by the test before that one's end.

import { appendFileSync } from "node:fs";
import { defineJob } from "leasehold";
import { leasehold, tell } from "./support.js";

const effects = String(process.argv[3]);

const job = defineJob({
  name: "dier",
  leaseMs: 1_000,
  async run({ step }) {
    const address = await step("address", () => {
      appendFileSync(effects, "address\n");
      return "Ada";
    });
    await step("send", ({ key }) => {
      appendFileSync(effects, `send ${address} ${key}\n`);
      tell("sent");
      return new Promise(() => {});
    });
  },
});
leasehold.work([job]);
