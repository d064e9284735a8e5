import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ROOT, startProcess } from "../cli/support.ts";
import { optional } from "../support/optional.ts";
import { missingRedis, RedisServer } from "../support/redis-server.ts";

/** The example in a folder of its own, where what it needs is installed. */
function installed(): string {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-example-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(ROOT, "examples", "redis-counter"), folder, { recursive: true });
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "leasehold"), { recursive: true });
  for (const name of ["dist", "package.json", "node_modules"])
    symlinkSync(join(ROOT, name), join(modules, "leasehold", name));
  for (const name of ["redis", "@redis", "cluster-key-slot"])
    symlinkSync(join(ROOT, "test", "integrations", "node_modules", name), join(modules, name));
  return folder;
}

optional("the example redis-counter", missingRedis(), () => {
  it("has the late write refused with both generations, and adds once", async () => {
    const server = await RedisServer.start();
    onTestFinished(() => server.close());
    const cwd = installed();
    const env = { NODE_OPTIONS: "--preserve-symlinks --preserve-symlinks-main" };
    const { code, stdout, stderr } = await startProcess(
      join(cwd, "start.js"),
      [`redis://127.0.0.1:${server.port}`],
      { cwd, env },
    ).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.trimEnd().split("\n")).toEqual([
      "The guard refuses stale tokens.",
      "Worker 1 has the job with generation 1, and is frozen before its write.",
      "Worker 2 took it over and made the balance 100.",
      expect.stringMatching(
        /^Worker 1 woke up and wrote\. job:.*: a write with generation 1 refused, the destination has seen 2\./,
      ),
    ]);
    const [account] = (await server.command("KEYS", "{accounts}:*-*")) as string[];
    expect(await server.command("GET", String(account))).toBe("100");
  }, 60_000);
});
