// Jobs that run isolated. Imported by the tests, by the processes of these tests, and by isolated processes.

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { defineJob, FinalError } from "leasehold";

/** @typedef {{ file: string }} Lines */
/** @template Input @typedef {import("leasehold").RunContext<Input>} Context */

/** @type {Partial<import("leasehold").JobSpec<never, unknown>> & { queue: string, isolation: "process", module: string }} */
const isolated = {
  queue: "q",
  leaseMs: 5_000,
  backoff: { baseMs: 0, jitter: "none" },
  isolation: "process",
  module: import.meta.url,
};

/** @param {string} file @param {unknown} line */
function write(file, line) {
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

export const looksAround = defineJob({
  ...isolated,
  name: "looks around",
  /** @param {Context<{ n: number }>} context */
  async run({ input, job, lease, signal, progress, log }) {
    progress({ at: "half" });
    log("a line");
    lease.assertTrusted();
    const { id, name, queue, attempt, maxAttempts, run, previous } = job;
    return {
      input,
      job: { id, name, queue, attempt, maxAttempts, run, previous: previous ?? null },
      lease: { token: lease.token, state: lease.state, effectScope: lease.effectScope },
      remainingMs: lease.remainingMs(),
      signal: signal === lease.signal && !signal.aborted,
      pid: process.pid,
    };
  },
});

/** Writes lines from a loop that gives nothing else a turn: no signal reaches it. */
export const blocks = defineJob({
  ...isolated,
  name: "blocks",
  /** @param {Context<Lines>} context */
  run({ input, lease }) {
    for (let n = 0; ; n++) {
      write(input.file, { pid: process.pid, n, atMs: Date.now(), state: lease.state });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  },
});

/** Writes lines whatever its signal says, and begins a process that does so too. */
export const ignores = defineJob({
  ...isolated,
  name: "ignores",
  /** @param {Context<Lines>} context */
  async run({ input }) {
    const program = `setInterval(() => require("node:fs").appendFileSync(${JSON.stringify(input.file)}, JSON.stringify({ pid: process.pid }) + "\\n"), 5)`;
    const grandchild = spawn(process.execPath, ["-e", program], { stdio: "ignore" });
    for (let n = 0; ; n++) {
      write(input.file, { pid: process.pid, n, atMs: Date.now(), grandchild: grandchild.pid });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  },
});

/** Ends when it is told to, and tells with what. */
export const obeys = defineJob({
  ...isolated,
  name: "obeys",
  /** @param {Context<Lines>} context */
  async run({ input, signal }) {
    write(input.file, { pid: process.pid });
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    write(input.file, { pid: process.pid, reason: signal.reason.reason });
    signal.throwIfAborted();
  },
});

export const dies = defineJob({
  ...isolated,
  name: "dies",
  maxAttempts: 1,
  /** @param {Context<"exit" | "throw" | "kill" | "memory">} context */
  async run({ input }) {
    if (input === "exit") process.exit(0);
    if (input === "kill") process.kill(process.pid, "SIGKILL");
    /** @type {unknown[]} */
    const eaten = [];
    while (input === "memory") eaten.push(new Array(100_000).fill(eaten));
    setImmediate(() => {
      throw new Error("outside the handler");
    });
    await new Promise(() => setInterval(() => {}, 1_000));
  },
});

/** Lasts until the file is there. */
export const waits = defineJob({
  ...isolated,
  name: "waits",
  /** @param {Context<Lines>} context */
  async run({ input }) {
    const { existsSync } = await import("node:fs");
    while (!existsSync(input.file)) await new Promise((resolve) => setTimeout(resolve, 5));
    return process.pid;
  },
});

export const throws = defineJob({
  ...isolated,
  name: "throws",
  maxAttempts: 2,
  /** @param {Context<"final" | "error" | "text">} context */
  run({ input }) {
    if (input === "text") throw "a text";
    if (input === "final") throw new FinalError("for good", { cause: new RangeError("too far") });
    throw Object.assign(new TypeError("not so"), { code: "E_NOT_SO", seen: 3 });
  },
});

export const completes = defineJob({
  ...isolated,
  name: "completes",
  maxAttempts: 1,
  run: ({ job }) => job.complete(() => "never"),
});

/** Isolated only as a suspect. */
export const suspected = defineJob({
  name: "suspected",
  queue: "q",
  leaseMs: 5_000,
  module: import.meta.url,
  run: () => process.pid,
});

/** Makes two steps, and dies in its own way in the second one of its first attempt. */
export const steps = defineJob({
  ...isolated,
  name: "steps",
  /** @param {Context<Lines>} context */
  async run({ input, job, step }) {
    const first = await step("first", () => process.pid);
    const second = await step("second", { onUnknown: "run" }, () => {
      if (job.attempt === 1) process.kill(process.pid, "SIGKILL");
      return new Promise((resolve) => setTimeout(resolve, job.attempt === 1 ? 60_000 : 0, process.pid));
    });
    write(input.file, { first, second });
    return { first, second };
  },
});
