import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { RunContext } from "../../src/client/handler.ts";
import { cli, cliJson, folder, withStore } from "./support.ts";

const job = defineJob({ name: "report", run: (_: RunContext<{ to: string }>) => {} });
const input = { to: "Ada" };

async function scheduled(): Promise<string> {
  const cwd = folder();
  await withStore(cwd, async (leasehold) => {
    await leasehold.schedule("nightly", { cron: "30 2 * * *", zone: "Europe/Berlin", job, input });
    await leasehold.schedule("often", { everyMs: 90_000, job, input });
  });
  return cwd;
}

const shown = (cwd: string, ...args: string[]) =>
  cliJson<readonly Record<string, unknown>[]>(["schedules", ...args], { cwd });

describe("schedules", () => {
  it("lists them in the order of their names", async () => {
    const cwd = await scheduled();
    expect([...(await shown(cwd))]).toMatchObject([
      {
        name: "nightly",
        cron: "30 2 * * *",
        zone: "Europe/Berlin",
        catchUp: "one",
        jobName: "report",
        paused: false,
      },
      { name: "often", everyMs: 90_000 },
    ]);
    const { stdout } = await cli(["schedules"], { cwd });
    expect(stdout.split("\n")[0]).toBe("name\ttiming\tzone\tjob\tnext\tlast\tpaused");
    expect(stdout).toMatch(/^nightly\t30 2 \* \* \*\tEurope\/Berlin\treport\t\d{4}-\S+Z\t-\t$/m);
    expect(stdout).toMatch(/^often\tevery \S+\t\treport\t/m);
    expect([...(await shown(cwd, "--name", "often"))]).toMatchObject([{ name: "often" }]);
    expect(await cli(["schedules", "--name", "none"], { cwd })).toMatchObject({ code: 3, stdout: "" });
  });

  it("previews the next slots in local time and UTC", async () => {
    const cwd = await scheduled();
    const { stdout } = await cli(["schedules", "--preview", "2"], { cwd });
    const [head, ...rows] = stdout.trimEnd().split("\n");
    expect(head).toBe("name\tlocal time\tUTC\tclocks\tpaused");
    expect(rows).toHaveLength(4);
    expect(rows[0]).toMatch(/^nightly\t\d{4}-\d\d-\d\d 0[23]:[03]0:00 \+0[12]:00\t\d{4}-\S+Z\t/);
    const previewed = await cliJson<readonly { name: string; slots: { slotMs: number; utc: string }[] }[]>(
      ["schedules", "--preview", "3", "--name", "often"],
      { cwd },
    );
    expect(previewed[0]?.slots).toHaveLength(3);
    expect(previewed[0]?.slots.every(({ slotMs, utc }) => Date.parse(utc) === slotMs)).toBe(true);
  });

  it("pauses, resumes, runs and removes them, and says which are not there", async () => {
    const cwd = await scheduled();
    expect((await cli(["schedules", "pause", "often"], { cwd })).stdout).toBe("often: paused.\n");
    expect((await cli(["schedules", "pause", "often"], { cwd })).stdout).toBe(
      "often: it was paused before.\n",
    );
    expect([...(await shown(cwd, "--name", "often"))]).toMatchObject([{ paused: true }]);
    expect(await cliJson(["schedules", "run", "often", "none"], { cwd })).toMatchObject({
      0: { name: "often", outcome: "enqueued" },
      1: { name: "none", outcome: "gone" },
      exit: 3,
    });
    expect((await cliJson<{ jobs: unknown[] }>(["list", "--job", "report"], { cwd })).jobs).toHaveLength(1);
    expect((await cli(["schedules", "resume", "often"], { cwd })).stdout).toBe("often: resumed.\n");
    expect(await cli(["schedules", "remove", "often", "none"], { cwd })).toMatchObject({
      code: 3,
      stdout: "often: removed.\n",
      stderr: "none: there is no such schedule.\n",
    });
    expect([...(await shown(cwd))]).toMatchObject([{ name: "nightly" }]);
  });

  it("does not make a store", async () => {
    expect((await cli(["schedules"], { cwd: folder() })).code).toBe(4);
  });
});
