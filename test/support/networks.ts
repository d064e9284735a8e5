/** Networks of a test's own: each worker in a namespace of its own, joined with this machine by one cable. */

import { spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { lastWill } from "./last-will.js";
import { Forbidden, missingCommand } from "./optional.ts";

export interface Network {
  readonly name: string;
  /** This machine's address, as seen from inside. */
  readonly host: string;
  /** The address inside, as this machine sees it. */
  readonly guest: string;
  /** Put before a command, this runs it inside. */
  readonly within: readonly string[];
}

let networks = 0;

/** Undefined when networks can be made, else why not: a tool is missing, or the machine forbids them. */
export function missingNetworks(): string | Forbidden | undefined {
  const missing = missingCommand("ip");
  if (missing !== undefined) return missing;
  const probe = `lh${process.pid}probe`;
  const made = spawnSync("ip", ["netns", "add", probe], { stdio: "ignore" }).status === 0;
  if (!made) return new Forbidden("network namespaces need root with CAP_SYS_ADMIN and CAP_NET_ADMIN");
  ip("netns", "del", probe);
  return undefined;
}

/** A network until the end of the test. Addresses are of the block for benchmarks, which nobody routes. */
export async function network(): Promise<Network> {
  networks += 1;
  const name = `lh${process.pid}n${networks}`;
  const [outside, inside] = [`${name}o`, `${name}i`];
  const block = 4 * ((process.pid * 8 + networks) % (64 * 256));
  const subnet = `198.18.${Math.floor(block / 256)}`;
  const [host, guest] = [1, 2].map((n) => `${subnet}.${(block % 256) + n}`) as [string, string];
  const undo = [
    ["ip", "netns", "del", name],
    ["ip", "link", "del", outside],
  ];
  const revoke = await Promise.all(undo.map((run) => lastWill({ run })));
  onTestFinished(() => {
    for (const [command = "", ...args] of undo) spawnSync(command, args, { stdio: "ignore" });
    for (const each of revoke) each();
  });
  ip("netns", "add", name);
  ip("link", "add", outside, "type", "veth", "peer", "name", inside);
  ip("link", "set", inside, "netns", name);
  ip("addr", "add", `${host}/30`, "dev", outside);
  ip("link", "set", outside, "up");
  ip("-n", name, "addr", "add", `${guest}/30`, "dev", inside);
  ip("-n", name, "link", "set", inside, "up");
  ip("-n", name, "link", "set", "lo", "up");
  return { name, host, guest, within: ["ip", "netns", "exec", name] };
}

function ip(...args: string[]): void {
  const { status, stderr } = spawnSync("ip", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr}`);
}
