import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

interface Told {
  readonly what: string;
  readonly detail?: unknown;
}

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** A command that runs the command which follows it, such as `ip netns exec a`. */
  readonly within?: readonly string[];
}

/** A process that a test starts, and what it tells: messages of the form `{ what, detail }`. */
export class Child {
  readonly told: Told[] = [];
  readonly process: ChildProcess;
  readonly exited: Promise<number | null>;

  constructor(file: string, args: readonly (string | number)[], { env, within = [] }: ChildOptions = {}) {
    const [command = "", ...rest] = [...within, process.execPath, file, ...args.map(String)];
    this.process = spawn(command, rest, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.process.on("message", (message) => this.told.push(message as Told));
    this.exited = once(this.process, "exit").then(([code]) => code);
  }

  /** The details of all messages of this name so far. */
  all(what: string): unknown[] {
    return this.told.filter((message) => message.what === what).map(({ detail }) => detail);
  }

  /** Resolves to the detail of the first message of this name; rejects when the process ends without one. */
  async tells(what: string): Promise<unknown> {
    for (;;) {
      const told = this.told.find((message) => message.what === what);
      if (told !== undefined) return told.detail;
      const gone = this.exited.then((code) => {
        if (!this.told.some((message) => message.what === what))
          throw new Error(`It exited with ${code}, without "${what}".`);
      });
      await Promise.race([once(this.process, "message"), gone]);
    }
  }

  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.exited;
  }
}
