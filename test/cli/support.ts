/** Runs the built command line as its users do: a process of its own, in a folder of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { defineJob, type EnqueueOptions, Leasehold } from "../../src/index.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const CLI = join(ROOT, "dist", "cli", "main.js");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Options {
  readonly cwd: string;
  readonly input?: string;
  readonly env?: Record<string, string>;
  readonly node?: string;
  /** A process group of its own, so that `killGroup` ends all that it has started. */
  readonly ownGroup?: boolean;
}

export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Resolves when stdout or stderr has `times` matches, with the first; rejects when the process ends before. */
  saw(pattern: RegExp, times?: number): Promise<RegExpMatchArray>;
}

/** A folder of the test's own, from which `leasehold` can be imported as if it had been installed. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "leasehold-cli-test-"));
  mkdirSync(join(made, "node_modules"));
  symlinkSync(ROOT, join(made, "node_modules", "leasehold"), "junction");
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

export function file(directory: string, name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** Uses the store of a folder from this process, which is quicker than another one where the command is not the point. */
export async function withStore<T>(
  directory: string,
  act: (leasehold: Leasehold) => Promise<T>,
  name = "leasehold.db",
): Promise<T> {
  const leasehold = new Leasehold({ store: sqlite(join(directory, name)) });
  try {
    await leasehold.open();
    return await act(leasehold);
  } finally {
    await leasehold.close();
  }
}

/** Enqueues a job of any name; resolves to its id. */
export function enqueued(
  directory: string,
  name: string,
  input: unknown = null,
  options: EnqueueOptions = {},
): Promise<string> {
  const job = defineJob({ name, run: (_: { readonly input: unknown }) => {} });
  return withStore(directory, async (leasehold) => (await leasehold.enqueue(job, input, options)).jobId);
}

/**
 * A JOBS_MODULE. `note` prints `ran INPUT ID GENERATION` at each run; the batch passes it on.
 */
export const JOBS = `
import { defineJob, FinalError } from "leasehold";
export const anyName = defineJob({
  name: "note",
  leaseMs: 1_000,
  run({ input, job, lease }) {
    console.log("ran", input, job.id, lease.token.generation);
    return { noted: input };
  },
});
export const broken = defineJob({
  name: "broken",
  run() {
    throw new FinalError("no such account");
  },
});
export default defineJob({
  name: "slow",
  queue: "slow things",
  leaseMs: 1_000,
  async run({ signal }) {
    console.log("slow began");
    await new Promise((resolve, reject) => {
      const timer = setInterval(() => {}, 1_000);
      signal.addEventListener("abort", () => {
        clearInterval(timer);
        console.log("slow aborted");
        reject(signal.reason);
      });
    });
  },
});
export const notAJob = { name: "nothing" };
`;

/** NDJSON with one value a line. */
export function ndjson(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

export function startProcess(script: string, args: readonly string[], options: Options): Running {
  const { LEASEHOLD_STORE: _, ...inherited } = process.env;
  const child = spawn(options.node ?? process.execPath, [script, ...args], {
    cwd: options.cwd,
    env: { ...inherited, NO_COLOR: "1", ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
    detached: options.ownGroup === true,
  });
  onTestFinished(() => {
    child.kill("SIGCONT");
    child.kill("SIGKILL");
  });
  child.stdin.on("error", () => {}); // it need not read what it is given
  child.stdin.end(options.input ?? "");

  let stdout = "";
  let stderr = "";
  const watchers = new Set<() => void>();
  const hear = (take: (text: string) => void) => (text: string) => {
    take(text);
    for (const watch of watchers) watch();
  };
  child.stdout.setEncoding("utf8").on(
    "data",
    hear((text) => {
      stdout += text;
    }),
  );
  child.stderr.setEncoding("utf8").on(
    "data",
    hear((text) => {
      stderr += text;
    }),
  );
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return {
    child,
    pid: child.pid as number,
    ended,
    saw(pattern, times = 1) {
      const every = new RegExp(pattern, `${pattern.flags}g`);
      return new Promise((resolve, reject) => {
        const look = (): void => {
          const matches = [...`${stdout}\n${stderr}`.matchAll(every)];
          if (matches.length < times) return;
          watchers.delete(look);
          resolve(matches[0] as RegExpMatchArray);
        };
        watchers.add(look);
        look();
        void ended.then(({ code, signal }) =>
          reject(
            new Error(`it ended (${signal ?? code}) without ${times} × ${pattern}:\n${stdout}\n${stderr}`),
          ),
        );
      });
    },
  };
}

/** Ends a process started with `ownGroup` and everything it has started, at one moment. */
export function killGroup({ pid }: Running): void {
  process.kill(-pid, "SIGKILL");
}

export function startCli(args: readonly string[], options: Options): Running {
  return startProcess(CLI, args, options);
}

export function cli(args: readonly string[], options: Options): Promise<Ended> {
  return startCli(args, options).ended;
}

/** What `--json` printed; anything else on stdout is an error. */
export async function cliJson<T>(
  args: readonly string[],
  options: Options,
): Promise<T & { readonly exit: number | null }> {
  const { code, stdout, stderr } = await cli([...args, "--json"], options);
  if (stdout === "") throw new Error(`nothing on stdout (${code}): ${stderr}`);
  const value = JSON.parse(stdout) as T;
  return Object.assign(value as object, { exit: code }) as T & { readonly exit: number | null };
}
