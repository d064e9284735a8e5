/** Child processes that a command starts, speaks with, and leaves none of behind. */

import { type ChildProcess, fork } from "node:child_process";
import { CliError, EXIT } from "./exit.ts";

export interface Child<Message> {
  readonly pid: number;
  /** Its messages in order. @throws {CliError} when it ends first, with its name and how it ended */
  next(): Promise<Message>;
  /** Resolves when it has ended: the signal's name, or the exit code. */
  readonly ended: Promise<string>;
  /** One that has ended cannot be told, and need not be. */
  tell(message: object): void;
  kill(): void;
}

export class Children {
  readonly #children: ChildProcess[] = [];
  #isDismissed = false;

  /** @param name for messages, as a sentence begins with it */
  start<Message>(script: string, argument: string, name: string): Child<Message> {
    if (this.#isDismissed) throw new CliError(EXIT.failed, "It was stopped.");
    // What they print is words: stdout is for the command's own data.
    const child = fork(script, [argument], { stdio: ["ignore", 2, 2, "ipc"] });
    this.#children.push(child);
    const ended = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    return {
      pid: child.pid ?? 0,
      next: inbox<Message>(child, ended, name),
      ended,
      tell: (message) => {
        if (child.connected) child.send(message, () => {});
      },
      kill: () => kill(child),
    };
  }

  /** Ends whatever still runs, frozen or not; nothing starts from then on. */
  dismiss(): void {
    this.#isDismissed = true;
    for (const child of this.#children) kill(child);
  }
}

function kill(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
}

function inbox<Message>(child: ChildProcess, ended: Promise<string>, name: string): () => Promise<Message> {
  const arrived: Message[] = [];
  let end: CliError | undefined;
  let wake = (): void => {};
  child.on("message", (message) => {
    arrived.push(message as Message);
    wake();
  });
  void ended.then((how) => {
    end = new CliError(EXIT.failed, `${name} ended before its part was over (${how}).`);
    wake();
  });
  return async () => {
    for (;;) {
      const message = arrived.shift();
      if (message !== undefined) return message;
      if (end !== undefined) throw end;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
}
