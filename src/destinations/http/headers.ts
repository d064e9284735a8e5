/**
 * What a request carries (RFC 8941 structured fields): `Fencing-Token`, a dictionary, and `Idempotency-Key`, the String of
 * the IETF draft of that name.
 *
 *     Fencing-Token: line="lease:account:42", generation="7", owner="q3bX", keyed
 *     Idempotency-Key: "job:0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11/1/charge"
 *
 * Texts are Strings, which are ASCII: every other character, and `%`, stands there percent-encoded as UTF-8. The
 * generation is a String too: RFC 8941's Integer ends at 15 digits, before our largest one.
 */

import { parseDictionary, parseItem, serializeDictionary, serializeItem } from "structured-headers";
import { InvalidArgumentError } from "../../errors.ts";
import type { Mark } from "../../protocol/destination-rule.ts";
import { type FencingToken, generation, jobId, type Line, owner } from "../../protocol/identity.ts";

export const TOKEN_HEADER = "Fencing-Token";
export const KEY_HEADER = "Idempotency-Key";
/** Generation and owner that the destination keeps, in the answer to an `advance`: proof that a guard gave it. */
export const MARK_HEADER = "Fencing-Mark";

const PROBE_LINE = "probe:";
const LONGEST_LINE = 512;
const GENERATION = /^(0|[1-9][0-9]{0,15})$/;
const KEY = /^(job:[0-9a-f-]{36}\/[0-9]+)\/(.+)$/su;

/** What a `Fencing-Token` tells beside the token. */
export interface TokenField {
  readonly token: FencingToken;
  /** An `Idempotency-Key` goes with it: should it be missing, something on the way has dropped it. */
  readonly keyed?: boolean;
  /** Raise the mark, and make no effect (D3). */
  readonly advance?: boolean;
  /** The fingerprint of the request, where its bytes differ from try to try. */
  readonly request?: string;
}

/** @throws {InvalidArgumentError} a line or owner with half a surrogate pair */
export function writeToken({ token, keyed, advance, request }: TokenField): string {
  return serializeDictionary({
    line: encoded("line", token.line),
    generation: String(token.generation),
    owner: encoded("owner", token.owner),
    ...(keyed && { keyed: true }),
    ...(advance && { advance: true }),
    ...(request !== undefined && { request }),
  });
}

/** @throws {Error} saying what is wrong with it */
export function readToken(header: string): TokenField {
  const members = parseDictionary(header);
  const member = (name: string): unknown => members.get(name)?.[0];
  const [number, request] = [member("generation"), member("request")];
  if (!GENERATION.test(String(number))) {
    throw new InvalidArgumentError("generation", number, 'a whole number in quotes, such as "7"');
  }
  return {
    token: {
      line: readLine(member("line")),
      generation: generation(Number(number)),
      owner: owner(decoded("owner", member("owner"))),
    },
    keyed: member("keyed") === true,
    advance: member("advance") === true,
    ...(typeof request === "string" && { request }),
  };
}

export function writeMark({ generation, owner }: Mark): string {
  return serializeDictionary({ generation: String(generation), owner: encoded("owner", owner) });
}

/** @throws {InvalidArgumentError} a key with half a surrogate pair */
export function writeKey(key: string): string {
  return serializeItem(encoded("step", key));
}

/** @throws {Error} saying what is wrong with it */
export function readKey(header: string): { readonly effectScope: string; readonly step: string } {
  const [, effectScope, step] = KEY.exec(decoded(KEY_HEADER, parseItem(header)[0])) ?? [];
  if (effectScope === undefined || step === undefined) {
    throw new InvalidArgumentError(KEY_HEADER, header, '"job:JOB_ID/RUN/STEP", quotes included');
  }
  return { effectScope, step };
}

export function isProbe(line: Line): boolean {
  return line.startsWith(PROBE_LINE);
}

export function probeLine(id: string): Line {
  return `${PROBE_LINE}${id}` as Line;
}

function readLine(member: unknown): Line {
  const line = decoded("line", member);
  const [kind, name] = [line.slice(0, line.indexOf(":") + 1), line.slice(line.indexOf(":") + 1)];
  if (name === "" || line.length > LONGEST_LINE || !["job:", "lease:", PROBE_LINE].includes(kind)) {
    throw new InvalidArgumentError("line", line, '"job:JOB_ID" or "lease:NAME"');
  }
  // Spelled in one way only, as marks are pruned by comparing job ids (D7).
  return kind === "job:" ? (`job:${jobId(name)}` as Line) : (line as Line);
}

function encoded(argument: string, text: string): string {
  try {
    return text.replace(/[^ -~]|%/gsu, encodeURIComponent);
  } catch {
    throw new InvalidArgumentError(argument, text, "a text without half surrogate pairs");
  }
}

function decoded(argument: string, member: unknown): string {
  try {
    if (typeof member === "string") return decodeURIComponent(member);
  } catch {} // no percent-encoding
  throw new InvalidArgumentError(argument, member, "a String: quoted, with all but ASCII percent-encoded");
}
