/** What the guard's script answers, and what an error of the server or the client means. */

import {
  InvalidArgumentError,
  StoreBusyError,
  StoreUnusableError,
  UnknownOutcomeError,
} from "../../errors.ts";
import { type FencingToken, generation, owner } from "../../protocol/identity.ts";
import type { EffectKey } from "../effect.ts";
import {
  EffectFailedError,
  EffectHalfMadeError,
  EffectMismatchError,
  PrunedLineError,
  StaleTokenError,
} from "../refusals.ts";
import type { EncodedWrite } from "./writes.ts";

/** A write as it was sent. */
export interface Sent {
  readonly operation: string;
  readonly token: FencingToken;
  readonly key: EffectKey | undefined;
  readonly write: EncodedWrite;
  readonly prefix: string;
}

/** For as long as it lasts, the server takes no writes. */
const FOR_NOW = new Set(
  "LOADING BUSY CLUSTERDOWN TRYAGAIN MASTERDOWN NOREPLICAS READONLY MOVED ASK".split(" "),
);
/** Until somebody has done something about it. */
const UNTIL_MENDED = new Set("NOAUTH NOPERM WRONGPASS OOM MISCONF WRONGTYPE NOSCRIPT NOPROTO".split(" "));

/** What node-redis throws instead of sending. */
const UNSENT = new Set(["ClientClosedError", "ClientOfflineError"]);

/** The answer's text, of an effect that was made now or before. */
export function answered(reply: readonly string[], sent: Sent): string {
  const [kind, ...told] = reply;
  const { operation, token, key } = sent;
  switch (kind) {
    case "made":
      return told[0] as string;
    case "stale":
      throw new StaleTokenError(token, {
        generation: generation(Number(told[0])),
        owner: owner(told[1] as string),
      });
    case "pruned":
      throw new PrunedLineError(token.line);
    case "mismatch":
      throw new EffectMismatchError(key?.key ?? "");
    case "half":
      throw new EffectHalfMadeError(key?.key ?? token.line, told[0] as string, true);
    case "broken":
      throw new EffectHalfMadeError(key?.key ?? token.line, `${failure(told, sent)} (${told[2]})`, false);
    case "failed":
      throw (
        serverRefusal(operation, told[0] as string, sent) ??
        new EffectFailedError(key?.key ?? token.line, failure(told, sent))
      );
    default:
      throw new UnknownOutcomeError(operation, new Error(`answer ${JSON.stringify(reply)}`), {
        who: "Redis",
      });
  }
}

/** What the caller is told of whatever the client threw. Without an answer of the server, all may have happened. */
export function unanswered(operation: string, error: unknown, sent?: Sent): unknown {
  const { message } = error as Error;
  if (sent !== undefined && message.includes("Error compiling script"))
    return new InvalidArgumentError("lua", inBody(message, sent), "Lua that Redis can compile");
  const isUnsent = UNSENT.has((error as Error).constructor.name) || message.includes("enableOfflineQueue");
  if (isUnsent) return new StoreBusyError(operation, 0, error);
  return (
    serverRefusal(operation, message, sent) ??
    new UnknownOutcomeError(operation, error, { who: "Redis", next: "Repeat it with the same step" })
  );
}

/** Errors that the server gives before a script has written anything. */
function serverRefusal(operation: string, message: string, sent?: Sent): Error | undefined {
  const code = message.split(" ", 1)[0] as string;
  if (code === "CROSSSLOT" || /non local key in a cluster|do not hash to the same slot/.test(message)) {
    const tag = /\{[^{}]+\}/.exec(sent?.prefix ?? "")?.[0];
    return new InvalidArgumentError(
      "write",
      message,
      `keys that all have the tag ${tag}, as the guard's own have: a cluster writes one slot in one step`,
    );
  }
  const cause = new Error(message);
  const isForbidden = message.startsWith("ERR The user executing the script can't");
  if (FOR_NOW.has(code)) return new StoreBusyError(operation, 0, cause);
  if (!UNTIL_MENDED.has(code) && !isForbidden) return undefined;
  // The caller's own command on a key of another type is the caller's failure, not the server's.
  if (code === "WRONGTYPE" && sent !== undefined) return undefined;
  return new StoreUnusableError(`${operation}: Redis refused it (${message}); nothing was written.`, {
    next: "See what the server's settings or this user's permissions forbid.",
    cause,
  });
}

function failure([reason, at]: readonly string[], sent: Sent): string {
  return `${sent.write.nameOf(Number(at))}: ${inBody(reason as string, sent)}`;
}

/** Lines are told as the caller counts them. */
function inBody(message: string, { write }: Sent): string {
  return message.replace(
    /user_script:(\d+):/g,
    (_, line: string) => `line ${Number(line) - write.script.linesBefore}:`,
  );
}
