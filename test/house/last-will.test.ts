import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { optional } from "../support/optional.ts";
import { missingProc, processesIn } from "../support/processes-in.js";

optional("a test's last will", missingProc, () => {
  it("is carried out after its process was killed: nothing that it started goes on, and its folder is gone", async () => {
    const folder = mkdtempSync(join(tmpdir(), "leasehold-will-"));
    const child = new Child(fileURLToPath(new URL("fixtures/last-will.js", import.meta.url)), [folder]);
    await child.tells("left");
    expect(processesIn(folder)).toHaveLength(1);
    await child.kill();
    await eventually("all is gone", () => processesIn(folder).length === 0 && !existsSync(folder));
  });
});
