/** What a network of a test's own lets through. */

import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { missingNetworks, type Network } from "./networks.ts";
import { Forbidden, missingCommand } from "./optional.ts";

/** What is dropped, as seen from inside: what is sent, what comes, or both. */
export type Way = "both" | "requests" | "replies";

export interface Cut {
  readonly way: Way;
  /** Of this machine. */
  readonly port: number;
  /** Only of the connection that was made from this port. Default: of all. */
  readonly from?: number;
}

const run = promisify(execFile);

/** Undefined when networks can be cut, else why not: a tool is missing, or the machine forbids it. */
export function missingCuts(): string | Forbidden | undefined {
  const missing = missingCommand("iptables") ?? missingNetworks();
  if (missing instanceof Forbidden) return new Forbidden(`no CAP_NET_ADMIN: ${missing.why}`);
  if (missing !== undefined) return missing;
  // In a network of its own, which is gone when the command has ended.
  const probe = ["--net", "iptables", "-w", "-A", "INPUT", "-p", "tcp", "--dport", "1", "-j", "DROP"];
  const { status } = spawnSync("unshare", probe, { stdio: "ignore" });
  return status === 0 ? undefined : new Forbidden("no CAP_NET_ADMIN: iptables cannot be used");
}

/** Packets are lost on the way from now on: nobody is told so, and connections stay as they are. */
export async function cut({ within, host }: Network, { way, port, from }: Cut): Promise<void> {
  const inside = from === undefined ? [] : [String(from)];
  const sent = ["OUTPUT", "-d", host, "--dport", String(port), ...inside.flatMap((own) => ["--sport", own])];
  const received = [
    "INPUT",
    "-s",
    host,
    "--sport",
    String(port),
    ...inside.flatMap((own) => ["--dport", own]),
  ];
  const rules = way === "both" ? [sent, received] : way === "requests" ? [sent] : [received];
  await Promise.all(
    rules.map(([chain = "", ...rest]) => iptables(within, ["-A", chain, "-p", "tcp", ...rest, "-j", "DROP"])),
  );
}

/** Undoes every cut of this network. */
export async function mend({ within }: Network): Promise<void> {
  await iptables(within, ["-F"]);
}

async function iptables([command = "", ...rest]: readonly string[], args: readonly string[]): Promise<void> {
  await run(command, [...rest, "iptables", "-w", ...args]);
}
