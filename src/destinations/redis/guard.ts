import type { World } from "../../clock/world.ts";
import { ClosedError, SchemaVersionError, StoreUnusableError } from "../../errors.ts";
import type { Mark } from "../../protocol/destination-rule.ts";
import { generation, type JobId, jobId, type Line, owner } from "../../protocol/identity.ts";
import { fromText } from "../answer.ts";
import { checkLease } from "../check-lease.ts";
import type { EffectLease, EffectOptions, ProbeResult } from "../destination.ts";
import { effectKey } from "../effect.ts";
import { probe } from "../probe.ts";
import { DEFAULT_PRUNE_LIMIT, type Pruned } from "../pruned.ts";
import type { RedisGuard } from "./index.ts";
import type { CheckedOptions } from "./options.ts";
import { answered, type Sent, unanswered } from "./replies.ts";
import { CLEAR_HALF_MADE, FORGET_MARK, MARK, ONE_COMMAND, OPEN, PRUNE, type Script } from "./scripts.ts";
import { notReplicated, type Server } from "./server.ts";
import { encodeWrite, type RedisWrite } from "./writes.ts";

const SCHEMA_VERSION = 1;
const NAMES = ["guard", "marks", "lines", "answers", "steps", "half"];
/** The commands that the script needs came with it. */
const OLDEST_MAJOR = 7;

export class Guard implements RedisGuard {
  readonly level = "fenced + deduplicated";
  readonly #connect: () => Promise<Server>;
  readonly #end: () => Promise<void>;
  readonly #world: World;
  readonly #options: CheckedOptions;
  readonly #keys: readonly string[];
  #ready: Promise<Opened> | undefined;
  #isClosed = false;

  constructor(
    connect: () => Promise<Server>,
    end: () => Promise<void>,
    world: World,
    options: CheckedOptions,
  ) {
    this.#connect = connect;
    this.#end = end;
    this.#world = world;
    this.#options = options;
    this.#keys = NAMES.map((name) => `${options.prefix}:${name}`);
  }

  async write<Answer>(lease: EffectLease, effect: EffectOptions, write: RedisWrite): Promise<Answer> {
    return fromText<Answer>(await this.#guarded("write", lease, effect, write));
  }

  async advance(lease: EffectLease): Promise<void> {
    await this.#guarded("advance", lease, {}, []);
  }

  async markOf(line: Line): Promise<Mark | undefined> {
    const [text = ""] = texts(await this.#small("markOf", MARK, [line]));
    const [, number, name] = /^(\d+) (.*)$/s.exec(text) ?? [];
    if (number === undefined || name === undefined) return undefined;
    return { generation: generation(Number(number)), owner: owner(name) };
  }

  async probe(): Promise<ProbeResult> {
    const late = [["SET", `${this.#options.prefix}:probe`, "late", "PX", 1]] as const;
    const asGuard = {
      advance: (lease: EffectLease) => this.advance(lease),
      write: <Answer>(lease: EffectLease, effect: EffectOptions): Promise<Answer> =>
        this.write<Answer>(lease, effect, late),
    };
    const result = await probe(asGuard, this.#world, (line) => this.#small("probe", FORGET_MARK, [line]));
    if (!result.isProven || (await this.#opened()).canTellEviction) return result;
    return {
      isProven: false,
      why: "INFO is not permitted, so nobody knows whether maxmemory-policy has marks evicted.",
    };
  }

  async prune(below: JobId, limit: number = DEFAULT_PRUNE_LIMIT): Promise<Pruned> {
    const reply = await this.#small("prune", PRUNE, [jobId(below), String(limit)]);
    const [marks = 0, answers = 0] = texts(reply).map(Number);
    return { marks, answers, isDone: marks < limit && answers < limit };
  }

  async clearHalfMade(key: string): Promise<boolean> {
    return Number(await this.#small("clearHalfMade", CLEAR_HALF_MADE, [key])) === 1;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #guarded(
    verb: string,
    lease: EffectLease,
    effect: EffectOptions,
    given: RedisWrite,
  ): Promise<string> {
    const token = checkLease(lease);
    const key = effectKey(lease, effect);
    const { prefix, undoBytes } = this.#options;
    const write = encodeWrite(given);
    const operation = `${verb} for ${token.line}`;
    const sent: Sent = { operation, token, key, write, prefix };
    const { server } = await this.#opened();
    const only = server.isCluster ? undefined : write.only;
    const args = [
      token.line,
      String(token.generation),
      token.owner,
      key?.key ?? "",
      key?.request ?? "",
      String(undoBytes),
      server.isCluster ? "1" : "0",
      ...(only ?? write.args),
    ];
    this.#world.reached("before-effect-send");
    const { reply, why } = await server
      .replicated({
        script: only === undefined ? write.script : ONE_COMMAND,
        keys: [...this.#keys, ...write.keys],
        args,
      })
      .catch((error: unknown) => {
        throw unanswered(operation, error, sent);
      });
    const answer = answered(texts(reply), sent);
    if (why !== undefined) throw notReplicated(operation, why);
    this.#world.reached("after-effect-reply");
    return answer;
  }

  async #small(operation: string, script: Script, args: readonly string[]): Promise<unknown> {
    const { server } = await this.#opened();
    return server.run({ script, keys: this.#keys, args }).catch((error: unknown) => {
      throw unanswered(operation, error);
    });
  }

  #opened(): Promise<Opened> {
    if (this.#isClosed) throw new ClosedError("The guard");
    this.#ready ??= this.#open().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #open(): Promise<Opened> {
    try {
      const server = await this.#connect();
      const reply = texts(await server.run({ script: OPEN, keys: this.#keys, args: [] }));
      const [schema, version = "", memory = ""] = reply;
      if (!(Number.parseInt(version, 10) >= OLDEST_MAJOR))
        throw unusable(`This Redis is ${version}.`, `Use ${OLDEST_MAJOR}.0 or newer.`);
      if (Number(schema) > SCHEMA_VERSION)
        throw new SchemaVersionError(Number(schema), SCHEMA_VERSION, "The guard");
      const evicts = evictionOf(memory);
      if (evicts !== undefined) {
        throw unusable(
          `maxmemory-policy is ${evicts}: Redis would evict marks, and then admit whoever comes late.`,
          "Set it to noeviction or to one that begins with volatile-, or use another server.",
        );
      }
      return { server, canTellEviction: memory !== "" };
    } catch (error) {
      throw error instanceof SchemaVersionError || error instanceof StoreUnusableError
        ? error
        : unanswered("open", error);
    }
  }
}

interface Opened {
  readonly server: Server;
  readonly canTellEviction: boolean;
}

/** The guard's keys have no time to live, so only what takes any key can take them. */
function evictionOf(memory: string): string | undefined {
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
  const isLimited = Number(/^maxmemory:(\d+)/m.exec(memory)?.[1] ?? 0) > 0;
  return isLimited && policy?.startsWith("allkeys-") ? policy : undefined;
}

function unusable(what: string, next: string): StoreUnusableError {
  return new StoreUnusableError(what, { next });
}

/** A client may have been told to give bytes instead of texts. */
function texts(reply: unknown): string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}
