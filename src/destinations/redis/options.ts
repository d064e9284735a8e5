import type { World } from "../../clock/world.ts";
import { InvalidArgumentError } from "../../errors.ts";

export interface RedisGuardOptions {
  /**
   * What the names of the guard's own keys begin with; with a hash tag, so that a cluster keeps them in one slot. What
   * is written under the guard in a cluster has the same tag. Default `{leasehold}`.
   */
  readonly prefix?: string;
  /** How long an answer of the server is waited for, ms. Default 10,000. */
  readonly timeoutMs?: number;
  /** How many replicas must have a write before it counts as made. Default 0: the server's own answer is enough. */
  readonly replicas?: number;
  /** How long they are waited for, ms. Default 1,000. */
  readonly replicasTimeoutMs?: number;
  /**
   * Up to what size a key is copied before a write, so that it can be put back should a later command of the same write
   * fail, in bytes. Default 65,536.
   */
  readonly undoBytes?: number;
  /** Time, timers and randomness; tests bring their own. */
  readonly world?: World;
}

export type CheckedOptions = Required<Omit<RedisGuardOptions, "world">>;

const LONGEST_MS = 2 ** 31 - 1;

/** @throws {InvalidArgumentError} */
export function checkOptions(options: RedisGuardOptions): CheckedOptions {
  const {
    prefix = "{leasehold}",
    timeoutMs = 10_000,
    replicas = 0,
    replicasTimeoutMs = 1_000,
    undoBytes = 65_536,
  } = options;
  if (typeof prefix !== "string" || !/^[^{}]*\{[^{}]+\}[^{}]*$/.test(prefix) || prefix.length > 200)
    throw new InvalidArgumentError("prefix", prefix, "a text with one hash tag, such as {accounts}");
  if (!(timeoutMs >= 1 && timeoutMs <= LONGEST_MS))
    throw new InvalidArgumentError("timeoutMs", timeoutMs, "milliseconds from 1 up");
  if (!(Number.isSafeInteger(replicas) && replicas >= 0))
    throw new InvalidArgumentError("replicas", replicas, "how many replicas, from 0 up");
  // 0 would have WAIT wait for ever.
  if (!(Number.isSafeInteger(replicasTimeoutMs) && replicasTimeoutMs >= 1 && replicasTimeoutMs <= LONGEST_MS))
    throw new InvalidArgumentError("replicasTimeoutMs", replicasTimeoutMs, "whole milliseconds from 1 up");
  if (!(Number.isSafeInteger(undoBytes) && undoBytes >= 0))
    throw new InvalidArgumentError("undoBytes", undoBytes, "whole bytes from 0 up");
  return { prefix, timeoutMs, replicas, replicasTimeoutMs, undoBytes };
}
