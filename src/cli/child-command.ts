/** A command of the caller's as a child: signals go down to it, its exit code comes up, and it can be ended for good. */

import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Timers } from "../clock/world.ts";
import { CliError, EXIT } from "./exit.ts";

export interface ChildCommand {
  /** As shells count: its own exit code, or 128 and the number of the signal that ended it. */
  readonly exitCode: Promise<number>;
  /** SIGTERM now, and SIGKILL to what is left after the grace. */
  end(graceMs: number): void;
}

const FORWARDED = ["SIGTERM", "SIGHUP", "SIGINT", "SIGUSR2"] as const;

/**
 * Starts `command`. Away from a terminal it gets a process group of its own, so that ending it ends what it started
 * too. On a terminal that would take the keyboard from it: there the command itself is ended, and Ctrl-C reaches it from
 * the terminal, not from here.
 */
export function startCommand(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  timers: Timers,
): ChildCommand {
  const [file = "", ...args] = command;
  const ownGroup = process.stdin.isTTY !== true && process.platform !== "win32";
  const child = spawn(file, args, { stdio: "inherit", detached: ownGroup, env: { ...process.env, ...env } });

  const handlers = FORWARDED.filter((signal) => ownGroup || signal !== "SIGINT").map((signal) => {
    const handler = (): void => send(child, signal, ownGroup);
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  // The terminal has sent Ctrl-C to the command as well; it decides, and we end when it ends.
  const ignore = (): void => {};
  process.on("SIGINT", ignore);
  handlers.push(() => process.off("SIGINT", ignore));

  const exitCode = new Promise<number>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => reject(notStarted(file, error)));
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  }).finally(() => {
    for (const remove of handlers) remove();
  });

  return {
    exitCode,
    end(graceMs) {
      send(child, "SIGTERM", ownGroup);
      const killing = timers.after(graceMs, () => send(child, "SIGKILL", ownGroup));
      child.once("exit", () => {
        killing.cancel();
        // A group may outlive its first process. What is left of it has had its SIGTERM.
        if (ownGroup) send(child, "SIGKILL", true);
      });
    },
  };
}

function send(child: ChildProcess, signal: NodeJS.Signals, ownGroup: boolean): void {
  if (child.pid === undefined) return;
  try {
    process.kill(ownGroup ? -child.pid : child.pid, signal);
  } catch (error) {
    // It has ended in the meantime.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function notStarted(file: string, error: NodeJS.ErrnoException): CliError {
  return new CliError(EXIT.usage, `${file} could not be started: ${reasonOf(error)}.`, { cause: error });
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "there is no such command";
  // Also when a folder of the PATH is closed to this user, whatever the other folders hold.
  if (error.code === "EACCES") return "there is no such command that this user may run";
  return error.message;
}
