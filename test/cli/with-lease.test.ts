import { describe, expect, it } from "vitest";
import { StoreBusyError } from "../../src/index.ts";
import { cli, cliJson, folder, type Running, startCli, withStore } from "./support.ts";

const node = process.execPath;

/** Holds on until it is told to end; says so. */
const HOLD = `
  process.on("SIGTERM", () => { console.log("command got SIGTERM"); process.exit(9); });
  console.log("holding generation", process.env.LEASEHOLD_GENERATION);
  setInterval(() => {}, 1_000);`;

/**
 * Stops a holder between two of its commits: one that is stopped within a commit keeps the file's write lock until it
 * goes on, and holds up everybody.
 */
async function freeze({ child }: Running, cwd: string): Promise<void> {
  await withStore(cwd, async ({ store }) => {
    for (;;) {
      child.kill("SIGSTOP");
      try {
        await store.pause("not held up", false, { timeoutMs: 100 });
        return;
      } catch (error) {
        if (!(error instanceof StoreBusyError)) throw error;
        child.kill("SIGCONT");
      }
    }
  });
}

describe("with-lease", () => {
  it("gives the command its token, passes its exit code on, and gives the lease up", async () => {
    const cwd = folder();
    const say =
      "const { env } = process; console.log(env.LEASEHOLD_LINE, env.LEASEHOLD_GENERATION, env.LEASEHOLD_OWNER)";
    for (const generation of [1, 2]) {
      const { code, stdout } = await cli(
        ["with-lease", "nightly", "--", node, "-e", `${say}; process.exit(7)`],
        { cwd },
      );
      expect(stdout).toMatch(new RegExp(`^lease:nightly ${generation} [\\w-]+\n$`));
      expect(code).toBe(7);
    }
    expect(await cliJson(["show", "lease:nightly"], { cwd })).toMatchObject({
      lease: { owner: null, generation: 2 },
    });
  });

  it("takes everything after -- for the command's", async () => {
    const { code, stdout } = await cli(
      ["with-lease", "nightly", "--", node, "-p", "process.argv.slice(1).join()", "--", "--lease", "--json"],
      { cwd: folder() },
    );
    expect([code, stdout]).toEqual([0, "--lease,--json\n"]);
  });

  it("is refused while somebody else holds the lease, and waits for it when asked to", async () => {
    const cwd = folder();
    const first = startCli(["with-lease", "nightly", "--", node, "-e", HOLD], { cwd });
    await first.saw(/holding generation 1/);

    const refused = await cli(["with-lease", "nightly", "--", node, "-e", ""], { cwd });
    expect(refused).toMatchObject({
      code: 5,
      stdout: "",
      stderr: expect.stringMatching(/nightly: somebody else holds it, for .* yet/),
    });
    const inVain = await cli(["with-lease", "nightly", "--wait", "1ms", "--json", "--", node, "-e", ""], {
      cwd,
    });
    expect(inVain.code).toBe(5);
    expect(
      inVain.stderr
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { lease: "nightly", outcome: "waiting", generation: null },
      { lease: "nightly", outcome: "refused", generation: null },
    ]);

    const second = startCli(["with-lease", "nightly", "--wait", "1m", "--", node, "-e", HOLD], { cwd });
    const other = await cli(["with-lease", "other", "--", node, "-p", "'not held up'"], { cwd });
    expect(other).toMatchObject({ code: 0, stdout: "not held up\n" });

    first.child.kill("SIGTERM"); // goes to the command, whose exit code comes back
    expect(await first.ended).toMatchObject({
      code: 9,
      stdout: expect.stringMatching(/command got SIGTERM/),
    });
    await second.saw(/holding generation 2/);
    second.child.kill("SIGTERM");
    expect((await second.ended).code).toBe(9);
  });

  it("passes SIGINT on, and answers 128 and the signal's number when a signal ended the command", async () => {
    const running = startCli(
      ["with-lease", "x", "--", node, "-e", "console.log('on'); setInterval(() => {}, 1e3)"],
      {
        cwd: folder(),
      },
    );
    await running.saw(/on/);
    running.child.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
  });

  it("can be ended while it waits", async () => {
    const cwd = folder();
    const first = startCli(["with-lease", "nightly", "--", node, "-e", HOLD], { cwd });
    await first.saw(/holding/);
    const waiting = startCli(["with-lease", "nightly", "--wait", "1h", "--json", "--", node, "-e", ""], {
      cwd,
    });
    await waiting.saw(/"outcome":"waiting"/);
    waiting.child.kill("SIGTERM");
    expect((await waiting.ended).code).toBe(143);
  });

  it("of a frozen holder goes to the next one with a higher generation; awake again it ends its command at once", async () => {
    const cwd = folder();
    const frozen = startCli(["with-lease", "nightly", "--lease", "1s", "--", node, "-e", HOLD], {
      cwd,
    });
    await frozen.saw(/holding generation 1/);
    await freeze(frozen, cwd);
    const next = startCli(["with-lease", "nightly", "--wait", "1m", "--", node, "-e", HOLD], { cwd });
    await next.saw(/holding generation 2/);

    frozen.child.kill("SIGCONT");
    const { code, stdout, stderr } = await frozen.ended;
    expect(stderr).toMatch(
      /the lease with generation 1 has ended \(lease_(expired|superseded)\); ending the command/,
    );
    expect(stdout).toMatch(/command got SIGTERM/);
    expect(code).toBe(5);

    next.child.kill("SIGTERM");
    expect((await next.ended).code).toBe(9);
    expect(await cliJson(["show", "lease:nightly"], { cwd })).toMatchObject({
      lease: { generation: 2, owner: null },
    });
  });

  it("kills a command that ignores SIGTERM, and what that has started, after the grace", async () => {
    const cwd = folder();
    // The grandchild holds on to stdout: only when it has ended too does the output end.
    const stubborn = `
      require("node:child_process").spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e3); console.log('grandchild')"], { stdio: "inherit" });
      process.on("SIGTERM", () => console.log("no"));
      setInterval(() => {}, 1_000);`;
    const holder = startCli(
      ["with-lease", "nightly", "--lease", "3s", "--grace", "50ms", "--", node, "-e", stubborn],
      { cwd },
    );
    await holder.saw(/grandchild/);
    await freeze(holder, cwd);
    const next = startCli(["with-lease", "nightly", "--wait", "1m", "--", node, "-p", "'next'"], { cwd });
    await next.saw(/next/);
    holder.child.kill("SIGCONT");
    expect((await holder.ended).code).toBe(5);
  });

  it("says when there is no such command", async () => {
    const cwd = folder();
    const { code, stderr } = await cli(["with-lease", "nightly", "--", "no-such-command"], { cwd });
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/no-such-command could not be started: there is no such/),
    ]);
    expect(await cliJson(["show", "lease:nightly"], { cwd })).toMatchObject({ lease: { owner: null } });
  });

  it("refuses a lease that is too short", async () => {
    const { code, stderr } = await cli(["with-lease", "x", "--lease", "10ms", "--", node], { cwd: folder() });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/leaseMs: received 10/)]);
  });
});
