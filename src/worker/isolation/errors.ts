/** What can go wrong with isolated runs. Listed with all others in `docs/reference/errors.md`. */

import { type EndOfTrust, LeaseholdError } from "../../errors.ts";

/** The process of an isolated run ended before its handler did: one failed attempt, and nobody else's. */
export class ProcessDiedError extends LeaseholdError {
  readonly code = "LH_PROCESS_DIED";
  /** Undefined when it could not even be started. */
  readonly pid: number | undefined;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;

  /** @param cause what was thrown outside the handler, or why the process could not be started */
  constructor(
    jobName: string,
    pid: number | undefined,
    exitCode: number | null,
    signal: NodeJS.Signals | null,
    cause: unknown,
  ) {
    const how = signal === null ? `exit code ${exitCode}` : signal;
    super(
      pid === undefined
        ? `${jobName}: a process could not be started.`
        : `${jobName}: process ${pid} ended (${how}) before the handler did.`,
      {
        next:
          signal === "SIGKILL"
            ? "If nobody killed it, look for the kernel's out-of-memory killer."
            : cause === undefined
              ? "Look for process.exit() in the handler, and for a crash on stderr."
              : "The cause says why.",
        cause,
      },
    );
    this.pid = pid;
    this.exitCode = exitCode;
    this.signal = signal;
  }
}

/** An isolated handler ignored its signal for the grace, so its process was ended (W4). */
export class ProcessTerminatedError extends LeaseholdError {
  readonly code = "LH_PROCESS_TERMINATED";
  readonly reason: EndOfTrust;
  readonly pid: number | undefined;

  constructor(jobName: string, reason: EndOfTrust, pid: number | undefined) {
    super(`${jobName}: process ${pid} was terminated: its handler ignored its signal (${reason}).`, {
      next: "Have the handler listen to its signal, or give it a longer graceMs.",
    });
    this.reason = reason;
    this.pid = pid;
  }
}

/** The `module` of a job cannot be used: not there, not loadable, or without exactly one job of that name. */
export class JobModuleError extends LeaseholdError {
  readonly code = "LH_JOB_MODULE";
  readonly module: string;

  constructor(module: string, problem: string, next: string, cause?: unknown) {
    super(`${module}: ${problem}.`, { next, cause });
    this.module = module;
  }
}

/** A worker was started in an isolated process: its module does the program's work when it is imported. */
export class WorkerInIsolationError extends LeaseholdError {
  readonly code = "LH_WORKER_IN_ISOLATION";

  constructor() {
    super("A worker was started in a process that runs isolated jobs for another one.", {
      next: "Move the job to a file of its own, which defines and exports jobs and does nothing else.",
    });
  }
}

/** This program has no file that an isolated process could start from. */
export class IsolationUnavailableError extends LeaseholdError {
  readonly code = "LH_ISOLATION_UNAVAILABLE";

  constructor(jobName: string, file: string) {
    super(
      `${jobName} is to run in a process of its own, and ${file}, which that starts from, is not there.`,
      {
        next: "Leave leasehold out of the bundle (external), or define the job without isolation.",
      },
    );
  }
}

/** `job.complete` was called in an isolated process; the store's transaction lives in the worker's. */
export class IsolatedCompletionError extends LeaseholdError {
  readonly code = "LH_ISOLATED_COMPLETION";

  constructor(jobName: string) {
    super(`${jobName}: job.complete cannot be called in an isolated process.`, {
      next: "Return the result, and write through a destination with lease.token; or run the job without isolation.",
    });
  }
}
