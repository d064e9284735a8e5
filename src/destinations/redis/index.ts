import { systemWorld } from "../../clock/system.ts";
import { InvalidArgumentError } from "../../errors.ts";
import type { JobId } from "../../protocol/identity.ts";
import type { Destination, EffectLease, EffectOptions } from "../destination.ts";
import type { Pruned } from "../pruned.ts";
import { channelOf, type RedisClient } from "./client.ts";
import { Guard } from "./guard.ts";
import { checkOptions, type RedisGuardOptions } from "./options.ts";
import { type OwnClient, openClient } from "./own-client.ts";
import { Server } from "./server.ts";
import type { RedisWrite } from "./writes.ts";

export type { DestinationLevel, EffectLease, EffectOptions, ProbeResult } from "../destination.ts";
export type { Pruned } from "../pruned.ts";
export {
  EffectFailedError,
  EffectHalfMadeError,
  EffectMismatchError,
  PrunedLineError,
  StaleTokenError,
} from "../refusals.ts";
export type { IoRedisClient, NodeRedisClient, RedisClient } from "./client.ts";
export type { RedisGuardOptions } from "./options.ts";
export type { RedisArgument, RedisCommand, RedisScript, RedisWrite } from "./writes.ts";

export interface RedisGuard extends Destination {
  /**
   * Admits the token (D2), raises the mark and makes the effect, in one step of the server. An effect with a step that was
   * made before is not made again: its answer comes back as it was (D4).
   *
   * `write` is a list of commands, whose answer is the list of their replies; or Lua, where what is written depends on
   * what is read, whose answer is what it returns. An answer is JSON: a missing value is null, bytes that are no UTF-8
   * are not kept, and whole numbers above 2^53 are rounded.
   *
   * Redis does not roll back. When a command fails, what the ones before it have written is put back, and nothing has
   * happened: `EffectFailedError`. Keys larger than `undoBytes` and published messages cannot be put back. Then the
   * effect is half made: `EffectHalfMadeError`, now and for every repeat of the step.
   *
   * @throws {StaleTokenError} a later owner has been here: nothing was written by this call (D5)
   * @throws {PrunedLineError}
   * @throws {EffectMismatchError} the step was used for another request
   * @throws {EffectFailedError | EffectHalfMadeError}
   * @throws {StoreBusyError | StoreUnusableError} nothing was written
   * @throws {UnknownOutcomeError} no answer, or not enough replicas have it
   * @throws {LeaseNotTrustedError | InvalidArgumentError} before anything is sent, or when keys are in other slots
   */
  write<Answer = unknown>(lease: EffectLease, effect: EffectOptions, write: RedisWrite): Promise<Answer>;
  /**
   * Gives up the marks and answers of jobs below `below` (D7), at most `limit` of each. From then on a token of such a
   * job is refused. `below` is not above the oldest job that is unfinished, or may be enqueued or retried yet; so it is
   * of no use to those who enqueue under ids of their own, which have no order.
   */
  prune(below: JobId, limit?: number): Promise<Pruned>;
  /**
   * For a person who has undone what an effect had written when it broke off: the next attempt makes it anew.
   *
   * @param key that of the `EffectHalfMadeError`
   * @returns whether there was such an effect
   */
  clearHalfMade(key: string): Promise<boolean>;
  /** Ends the guard, and the client if it is the guard's own. */
  close(): Promise<void>;
}

/**
 * Guards keys of a Redis 7 or newer: marks, effects and answers are written by one script (D1). Fenced and deduplicated,
 * as far as the server keeps what it has acknowledged: by default it loses the last second when it dies, and a failover
 * loses what the replica had not got, marks and effects alike.
 *
 * Not protected: whoever writes to the keys past the guard.
 *
 * @param client a connected client of node-redis or ioredis, which stays the caller's to close; or an address such as
 *   `redis://localhost:6379`, for a client of the guard's own by whichever of the two is installed
 * @throws {InvalidArgumentError}
 */
export function redisGuard(client: RedisClient | string, options: RedisGuardOptions = {}): RedisGuard {
  const checked = checkOptions(options);
  const world = options.world ?? systemWorld();
  if (typeof client !== "string") {
    const server = new Server(channelOf(client), world, checked);
    return new Guard(
      async () => server,
      async () => {},
      world,
      checked,
    );
  }
  if (!/^rediss?:\/\//.test(client))
    throw new InvalidArgumentError("client", "an address", "one such as redis://localhost:6379"); // it may hold a password
  let own: Promise<OwnClient> | undefined;
  const connect = async (): Promise<Server> => {
    own ??= openClient(client);
    try {
      return new Server(channelOf((await own).client), world, checked);
    } catch (error) {
      own = undefined;
      throw error;
    }
  };
  return new Guard(connect, async () => (await own?.catch(() => undefined))?.close(), world, checked);
}
