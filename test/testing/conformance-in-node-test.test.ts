import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { conformanceChapters } from "../../src/testing/index.ts";

const script = fileURLToPath(new URL("./conformance-in-node-test.js", import.meta.url));

it("the conformance suite runs under `node --test` as it does here", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--test", "--test-reporter=tap", script], {
    // Node's runner would take itself for a child of another one.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  const tests = conformanceChapters.flatMap((chapter) => chapter.tests).length;
  expect(stdout).toContain(`# tests ${tests}`);
  expect(stdout).toContain(`# pass ${tests}`);
  expect(stdout).toContain("# fail 0");
});
