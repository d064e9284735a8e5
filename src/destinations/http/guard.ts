/** The service's side: the token is compared, the effect made and the answer stored in one step of another kit's guard. */

import { createHash } from "node:crypto";
import { InvalidArgumentError } from "../../errors.ts";
import type { EffectLease, EffectOptions, Guard } from "../destination.ts";
import { effectKey } from "../effect.ts";
import type { GuardPool } from "../postgres/index.ts";
import type { GuardDatabase, GuardTx } from "../sqlite/index.ts";
import { type Answer, answerOf, responseOf } from "./answer.ts";
import { boundedBody } from "./body.ts";
import { guardOn } from "./guard-on.ts";
import {
  isProbe,
  KEY_HEADER,
  MARK_HEADER,
  readKey,
  readToken,
  TOKEN_HEADER,
  type TokenField,
  writeMark,
} from "./headers.ts";
import { problem, problemOf } from "./problems.ts";

const DEFAULT_MAX_BODY_BYTES = 1024 * 1024;

export interface HttpGuardSettings {
  /** Answers requests without a token. Left out: they are refused with 428. */
  readonly unfenced?: (request: Request) => Promise<Response> | Response;
  /** The longest body of a request in bytes; default 1 MiB. A longer one is refused with 413. */
  readonly maxBodyBytes?: number;
}

export interface HttpGuardOptions<Tx> extends HttpGuardSettings {
  /** Where marks and answers stand: beside the data that `handle` writes, such as the guard of its database. */
  readonly guard: Guard<Tx>;
}

export interface HttpDatabaseOptions extends HttpGuardSettings {
  /**
   * Instead of `guard`: the database with the data that `handle` writes, whose kit's guard is made with its defaults. An
   * open handle on a SQLite file (`node:sqlite`'s `DatabaseSync` or one alike), or a `pg.Pool`.
   */
  readonly database: GuardDatabase | GuardPool;
}

/**
 * Makes the effect through `tx`, with whatever restrictions the guard's own `write` has for its body; the request's body
 * is in memory. An answer below 500 is stored; one from 500 up, or an error, rolls everything back.
 */
export type HttpHandle<Tx> = (request: Request, tx: Tx) => Promise<Response> | Response;

export type GuardedHttp<Tx> = (request: Request, handle: HttpHandle<Tx>) => Promise<Response>;

/**
 * Refusals are `application/problem+json`: 409 for a stale token (with both generations), a pruned line and an effect
 * under way (with Retry-After); 422 for a key used for another request; 428 without a token and 400 with a malformed one;
 * 503 when the guard's database was busy. In all of them nothing was written.
 *
 * A repeat is answered with the first one's status, headers and body. Cookies and what belongs to one connection are no
 * part of an answer. What `handle` throws is thrown.
 *
 * The token is no password: whoever may call the service may show any.
 *
 * @throws {InvalidArgumentError} a limit that is no number of bytes, or a database that is none
 */
export function httpGuard(options: HttpDatabaseOptions): GuardedHttp<GuardTx>;
export function httpGuard<Tx>(options: HttpGuardOptions<Tx>): GuardedHttp<Tx>;
export function httpGuard(options: HttpDatabaseOptions | HttpGuardOptions<GuardTx>): GuardedHttp<GuardTx> {
  const guard = "database" in options ? guardOn(options.database) : options.guard;
  const { unfenced, maxBodyBytes: limit = DEFAULT_MAX_BODY_BYTES } = options;
  if (!Number.isSafeInteger(limit) || limit < 0) {
    throw new InvalidArgumentError("maxBodyBytes", limit, "a whole number of bytes");
  }
  return async (request, handle) => {
    if (unfenced !== undefined && !request.headers.has(TOKEN_HEADER)) return unfenced(request);
    const sent = sentWith(request);
    if (sent instanceof Response) return sent;
    const { lease, field } = sent;
    let thrown: unknown;
    try {
      if (field.advance) {
        await guard.advance(lease);
        const mark = (await guard.markOf(lease.token.line)) ?? lease.token;
        return new Response(null, { status: 204, headers: { [MARK_HEADER]: writeMark(mark) } });
      }
      if (isProbe(lease.token.line)) {
        // Not with this token: each worker that starts would leave a mark here for ever. The guard cleans up its own.
        return Response.json(await guard.probe(), { headers: { [MARK_HEADER]: writeMark(lease.token) } });
      }
      const body = await boundedBody(request, limit);
      if (body === undefined) {
        return problem(413, "too-large", "The body is too long", `It may have ${limit} bytes.`);
      }
      return responseOf(
        await guard.write<Answer>(lease, effectOf(request, body, sent), async (tx) => {
          try {
            const response = await handle(again(request, body), tx);
            if (response.status >= 500) throw new RolledBack(response);
            return await answerOf(response);
          } catch (error) {
            thrown = error;
            throw error;
          }
        }),
      );
    } catch (error) {
      if (error instanceof RolledBack) return error.response;
      // A refusal that the handler met at a destination of its own is none of this one.
      const refusal = error === thrown ? undefined : problemOf(error, lease.token);
      if (refusal === undefined) throw error;
      return refusal;
    }
  };
}

/** Carries an answer that is not to be stored out of the guard's transaction. */
class RolledBack extends Error {
  readonly response: Response;

  constructor(response: Response) {
    super(`The handler answered ${response.status}.`);
    this.response = response;
  }
}

interface Sent {
  readonly lease: EffectLease;
  readonly field: TokenField;
  readonly step: string | undefined;
}

function sentWith({ headers }: Request): Sent | Response {
  const [token, key] = [headers.get(TOKEN_HEADER), headers.get(KEY_HEADER)];
  if (token === null) {
    return problem(
      428,
      "token-missing",
      "A fencing token is required",
      `The request came without ${TOKEN_HEADER}. If its sender gave one, a proxy on the way has dropped it: let it pass ` +
        `${TOKEN_HEADER} and ${KEY_HEADER} through. Nothing was written.`,
    );
  }
  try {
    const field = readToken(token);
    if (key === null && field.keyed) {
      return problem(
        428,
        "key-missing",
        "The idempotency key got lost",
        `The request was sent with ${KEY_HEADER} and came without: a proxy on the way has dropped it. Nothing was written.`,
      );
    }
    const { effectScope, step } = key === null ? { effectScope: null, step: undefined } : readKey(key);
    const lease = { token: field.token, effectScope };
    effectKey(lease, step === undefined ? {} : { step });
    return { lease, field, step };
  } catch (error) {
    const detail = `${(error as Error).message} Nothing was written.`;
    return problem(400, "malformed-token", `${TOKEN_HEADER} or ${KEY_HEADER} cannot be read`, detail);
  }
}

function effectOf(request: Request, body: Uint8Array, { field, step }: Sent): EffectOptions {
  if (step === undefined) return {};
  const { pathname, search } = new URL(request.url);
  const asked = field.request ?? createHash("sha256").update(body).digest("hex");
  return { step, request: { method: request.method, path: pathname + search, body: asked } };
}

/** The request with its body, which was read for the fingerprint, to be read once more. */
function again({ url, method, headers }: Request, body: Uint8Array<ArrayBuffer>): Request {
  return new Request(url, { method, headers, ...(method !== "GET" && method !== "HEAD" && { body }) });
}
