/** Refusals on the wire: `application/problem+json` (RFC 9457), written by the guard and read back by the client. */

import { type LeaseholdError, StoreBusyError } from "../../errors.ts";
import type { Mark } from "../../protocol/destination-rule.ts";
import { type FencingToken, generation, owner } from "../../protocol/identity.ts";
import { EffectMismatchError, EffectRunningError, PrunedLineError, StaleTokenError } from "../refusals.ts";

const MEDIA_TYPE = "application/problem+json";
const KIND = "urn:leasehold:";

export function problem(
  status: number,
  kind: string,
  title: string,
  detail: string,
  { members = {}, headers = {} }: { members?: object; headers?: Record<string, string> } = {},
): Response {
  const body = { type: KIND + kind, title, status, detail, ...members };
  return new Response(JSON.stringify(body), { status, headers: { "content-type": MEDIA_TYPE, ...headers } });
}

/** @returns undefined for an error that is no refusal of a guard */
export function problemOf(error: unknown, { line, generation, owner }: FencingToken): Response | undefined {
  const token = { line, generation, owner };
  if (error instanceof StaleTokenError) {
    return problem(409, "stale-token", "A later owner has been here", error.message, {
      members: { token, mark: error.mark },
    });
  }
  if (error instanceof PrunedLineError) {
    return problem(409, "pruned-line", "The job ended long ago", error.message, { members: { token } });
  }
  if (error instanceof EffectRunningError) {
    const retryInMs = Math.max(0, Math.ceil(error.retryInMs));
    return problem(409, "effect-running", "The same effect is being made", error.message, {
      members: { token, key: error.key, retryInMs },
      headers: { "retry-after": String(Math.max(1, Math.ceil(retryInMs / 1000))) },
    });
  }
  if (error instanceof EffectMismatchError) {
    return problem(422, "effect-mismatch", "The key was used for another request", error.message, {
      members: { token, key: error.key },
    });
  }
  if (error instanceof StoreBusyError) {
    return problem(503, "busy", "Busy; nothing was written", error.message, {
      headers: { "retry-after": "1" },
    });
  }
  return undefined;
}

/**
 * The refusal that `response` tells of, for this very token: an answer may also be what the service was told itself, by
 * another one that it called.
 */
export function refusalIn(
  response: Response,
  body: Uint8Array,
  token: FencingToken,
): LeaseholdError | undefined {
  if (response.status !== 409 && response.status !== 422) return undefined;
  if (!response.headers.get("content-type")?.startsWith(MEDIA_TYPE)) return undefined;
  const said = parsed(body);
  const about = said["token"] as Partial<FencingToken> | undefined;
  const isOurs =
    about?.line === token.line && about.generation === token.generation && about.owner === token.owner;
  if (!isOurs) return undefined;
  switch (said["type"]) {
    case `${KIND}stale-token`: {
      const mark = markIn(said["mark"]);
      return mark && new StaleTokenError(token, mark);
    }
    case `${KIND}pruned-line`:
      return new PrunedLineError(token.line);
    case `${KIND}effect-running`:
      return new EffectRunningError(String(said["key"]), retryInMs(said["retryInMs"], response.headers));
    case `${KIND}effect-mismatch`:
      return new EffectMismatchError(String(said["key"]));
    default:
      return undefined;
  }
}

/** The header is in whole seconds, and may be all that a guard of another make says. */
function retryInMs(said: unknown, headers: Headers): number {
  if (typeof said === "number" && said >= 0) return said;
  const seconds = Number(headers.get("retry-after") ?? 1);
  return seconds >= 0 ? seconds * 1000 : 1000;
}

function parsed(body: Uint8Array): Record<string, unknown> {
  try {
    return Object(JSON.parse(Buffer.from(body).toString()));
  } catch {
    return {};
  }
}

function markIn(said: unknown): Mark | undefined {
  const mark = Object(said) as { generation?: unknown; owner?: unknown };
  try {
    return { generation: generation(mark.generation as number), owner: owner(mark.owner as string) };
  } catch {
    return undefined;
  }
}
