/** Where the effects of a drill land, and how it is seen what has landed. */

import type { DestinationLevel, EffectLease, ProbeResult } from "../../destinations/destination.ts";
import type { RunContext } from "../../index.ts";
import type { JobId } from "../../protocol/identity.ts";
import { openAccount } from "../accounts/kinds.ts";
import type { TargetPlace } from "./messages.ts";
import { drillOf } from "./own-destination.ts";

export interface Target {
  /** For people. */
  readonly name: string;
  readonly level: DestinationLevel;
  /** Makes the one effect of a run; a repeat is for the destination to know. */
  write(context: RunContext): Promise<unknown>;
  /** All that is there of a job. */
  read(job: DrilledJob): Promise<unknown>;
  isRefusal(error: unknown): boolean;
  probe(): Promise<ProbeResult>;
  /** Takes away what was written for these jobs. @returns what stays, for people; empty for nothing */
  remove(jobs: readonly DrilledJob[]): Promise<readonly string[]>;
  close(): Promise<unknown>;
}

/** What a destination may know a job by. */
export interface DrilledJob {
  readonly jobId: JobId;
  /** Of its tokens: `job:<job_id>`. */
  readonly line: string;
  /** What the keys of its effects begin with: `job:<job_id>/1`. */
  readonly effectScope: string;
}

const CENTS = 1;

export async function openTarget(place: TargetPlace): Promise<Target> {
  return "account" in place ? accountTarget(place.account) : ownTarget(place.module);
}

async function accountTarget(place: Extract<TargetPlace, { account: unknown }>["account"]): Promise<Target> {
  const account = await openAccount(place);
  return {
    name: place.kind,
    level: account.destination.level,
    write: ({ lease }: { readonly lease: EffectLease }) => account.credit(lease, CENTS),
    read: async ({ line }) => (await account.entries()).filter((entry) => entry.line === line),
    isRefusal,
    probe: () => account.destination.probe(),
    async remove() {
      await account.remove?.();
      return [];
    },
    close: () => account.close(),
  };
}

async function ownTarget(module: string): Promise<Target> {
  const own = await drillOf(module);
  return {
    name: module,
    level: own.level,
    write: async (context) => own.write(context),
    read: async (job) => own.read(job),
    isRefusal: (error) => isRefusal(error) || own.isRefusal?.(error) === true,
    probe: async () =>
      (await own.probe?.()) ?? { isProven: false, why: "the module exports no probe to ask" },
    async remove(jobs) {
      if (own.remove === undefined) return [`whatever ${module} has written for ${jobs.length} jobs`];
      await own.remove(jobs);
      return [];
    },
    close: async () => own.close?.(),
  };
}

/** The refusals of the kits, also of another copy of this package. */
function isRefusal(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return code === "LH_STALE_TOKEN" || code === "LH_PRUNED_LINE";
}
