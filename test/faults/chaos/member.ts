import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Home } from "./ground.ts";
import type { Aimed, LostReply } from "./processes/faults.js";
import type { WorkerOrders } from "./processes/worker.js";
import { STOPS_WITHIN_MS } from "./settings.ts";

const FILE = fileURLToPath(new URL("./processes/worker.js", import.meta.url));

/** What a process has written to its pipe is read by then, ms after its exit. */
const PIPE_MS = 50;

/** From the word that it stops itself to its standing still, ms: no more than this is waited for. */
const STANDS_WITHIN_MS = 500;

/** What a process was at when it struck. */
export interface Struck {
  readonly point?: string;
  /** Of these jobs: the one whose effect was to be sent, or those that were about to be settled. */
  readonly jobs?: readonly string[];
  readonly destination?: string;
}

export type MemberOrders = Omit<WorkerOrders, "name" | "incarnation" | "renewer">;

/** One of the workers: a process, and the next one in its place when it has ended. */
export class Member {
  readonly name: string;
  incarnation = 0;
  /** Some nemesis has it in hand, and others leave it alone. */
  isTaken = false;
  readonly #folder: string;
  readonly #orders: MemberOrders;
  readonly #home: Home;
  readonly #waiting = new Map<number, (struck: Struck | undefined) => void>();
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #onExit: ((code: number | null, signal: NodeJS.Signals | null) => void) | undefined;

  /** @param folder where its processes work, so that those of a killed run are found and ended */
  constructor(name: string, folder: string, orders: MemberOrders, home: Home = {}) {
    this.name = name;
    this.#folder = folder;
    this.#orders = orders;
    this.#home = home;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Told of each end of a process. */
  onExit(heard: (code: number | null, signal: NodeJS.Signals | null) => void): void {
    this.#onExit = heard;
  }

  /** Resolves when it works; at once when it runs already, and also when it has died on the way. */
  async start(): Promise<void> {
    if (this.#child !== undefined) return;
    this.incarnation += 1;
    const { name, incarnation } = this;
    // Both ways to renew are met with: from the thread twice as often, as that is what users get.
    const renewer = incarnation % 3 === 0 ? "inline" : "thread";
    const orders: WorkerOrders = { ...this.#orders, name, incarnation, renewer };
    const log = openSync(join(this.#folder, `${name.replaceAll(" ", "-")}.log`), "a");
    const { within = [], env } = this.#home;
    const [command = "", ...args] = [...within, process.execPath, FILE, JSON.stringify(orders)];
    const child = spawn(command, args, {
      cwd: this.#folder,
      env: { ...process.env, ...env },
      stdio: ["ignore", log, log, "ipc", "pipe"],
    });
    closeSync(log);
    this.#child = child;
    const pipe = createInterface(child.stdio[4] as Readable);
    pipe.on("line", (line) => this.#heard(line));
    this.#exited = once(child, "exit").then(([code, signal]) => {
      this.#child = undefined;
      this.#onExit?.(code, signal);
    });
    await Promise.race([once(child, "message"), this.#exited]);
  }

  /** The process strikes at the next place that fits. Resolves to what it was at; undefined: not within `ms`, nor later. */
  async strikes(fault: Aimed | LostReply, ms: number): Promise<Struck | undefined> {
    const child = this.#child;
    if (child === undefined || !child.connected) return undefined;
    const { request } = fault;
    const told = new Promise<Struck | undefined>((resolve) => this.#waiting.set(request, resolve));
    child.send(fault, () => {});
    const late = setTimeout(() => child.connected && child.send({ disarm: request }, () => {}), ms);
    // A killed one has told so before, and may have done so in vain: its exit is heard of first.
    const gone = this.#exited.then(() => sleep(PIPE_MS, undefined));
    const has = await Promise.race([told, gone]);
    clearTimeout(late);
    this.#waiting.delete(request);
    return has;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Lets a process go on that has told that it stops itself: it may be about to, and a signal that comes first is lost. */
  async resume(): Promise<void> {
    const { pid } = this.#child ?? {};
    for (let left = STANDS_WITHIN_MS; pid !== undefined && left > 0 && !standsStill(pid); left--)
      await sleep(1);
    this.signal("SIGCONT");
  }

  async gone(): Promise<void> {
    await this.#exited;
  }

  /** In order. Resolves to false when it did not end by itself. */
  async stop(): Promise<boolean> {
    if (this.#child === undefined) return true;
    this.signal("SIGTERM");
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      // Behind what has happened meanwhile: the harness itself may have stood still, and its exit is yet to be heard.
      timer = setTimeout(() => setImmediate(() => resolve(false)), STOPS_WITHIN_MS);
    });
    const inTime = await Promise.race([this.#exited.then(() => true), late]);
    clearTimeout(timer);
    if (!inTime) await this.end();
    return inTime;
  }

  /** For the end of the test, whatever state it is in. */
  async end(): Promise<void> {
    this.signal("SIGKILL");
    await this.#exited;
  }

  #heard(line: string): void {
    const { disarmed, struck = disarmed, ...at } = JSON.parse(line) as Struck & Record<string, number>;
    this.#waiting.get(struck ?? 0)?.(disarmed === undefined ? at : undefined);
  }
}

function standsStill(pid: number): boolean {
  try {
    return /\) [Tt] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true; // it has ended
  }
}
