/** The worker's side: a `fetch` whose requests carry the lease's token and the effect's key. */

import { systemWorld } from "../../clock/system.ts";
import type { World } from "../../clock/world.ts";
import { InvalidArgumentError, UnknownOutcomeError } from "../../errors.ts";
import { generation } from "../../protocol/identity.ts";
import type {
  Destination,
  DestinationLevel,
  EffectLease,
  EffectOptions,
  ProbeResult,
} from "../destination.ts";
import { effectKey } from "../effect.ts";
import { withBody } from "./answer.ts";
import { eitherSignal } from "./either-signal.ts";
import {
  KEY_HEADER,
  MARK_HEADER,
  probeLine,
  TOKEN_HEADER,
  type TokenField,
  writeKey,
  writeToken,
} from "./headers.ts";
import { wasNotSent } from "./not-sent.ts";
import { refusalIn } from "./problems.ts";

export interface HttpDestinationOptions {
  /** The service's address; paths are resolved against it. `advance` and `probe` ask it with OPTIONS. */
  readonly url: string | URL;
  /** What sends the requests; default: the global `fetch`. It must not repeat them without the same headers. */
  readonly fetch?: (url: URL, init: RequestInit) => Promise<Response>;
  /** What the service is known to do; default `fenced + deduplicated`, as `httpGuard` does. */
  readonly level?: DestinationLevel;
  /** For tests. */
  readonly world?: World;
}

export interface HttpLease extends EffectLease {
  /** Ends a request under way when the lease ends: its outcome is then unknown. */
  readonly signal?: AbortSignal;
}

/** What `fetch` takes, with the effect's step; `request` where the body's bytes differ from try to try (a form's bounds). */
export interface HttpEffect extends RequestInit, EffectOptions {}

/** Marks are the service's own: they come back with refusals, and cannot be asked for. */
export interface HttpDestination extends Omit<Destination, "markOf"> {
  /**
   * `fetch` with the lease's token, and with the step's key when one is given. Resolves when the whole answer is here, to
   * whatever the service answered that is no refusal: look at its status. Redirects are not followed unless asked for.
   *
   * @throws {StaleTokenError} a later owner has been there: this request wrote nothing (D5)
   * @throws {PrunedLineError}
   * @throws {EffectMismatchError} the step was used for another request
   * @throws {EffectRunningError} the same effect is being made just now
   * @throws {UnknownOutcomeError} no whole answer came: the effect may have been made
   * @throws {LeaseNotTrustedError} before anything is sent; so is `fetch`'s own error where no connection was made
   */
  fetch(lease: HttpLease, path: string | URL, init?: HttpEffect): Promise<Response>;
}

export function httpDestination(options: HttpDestinationOptions): HttpDestination {
  const { url: base, fetch: send = fetch, level = "fenced + deduplicated", world = systemWorld() } = options;
  if (!URL.canParse(String(base)))
    throw new InvalidArgumentError("url", base, 'an address such as "http://billing:8080"');

  async function request(
    lease: HttpLease,
    path: string | URL,
    { step, request: asked, ...init }: HttpEffect,
    extra: Partial<TokenField> = {},
  ): Promise<Response> {
    const { token } = lease;
    const url = new URL(path, base);
    const effect = effectKey(lease, { ...(step !== undefined && { step }), request: asked });
    const headers = new Headers(init.headers);
    const told = effect?.request ? { request: effect.request } : {};
    headers.set(TOKEN_HEADER, writeToken({ token, keyed: effect !== undefined, ...told, ...extra }));
    if (effect !== undefined) headers.set(KEY_HEADER, writeKey(effect.key));
    const signals = [lease.signal, init.signal].filter((signal) => signal != null);

    lease.assertTrusted?.();
    for (const signal of signals) signal.throwIfAborted();
    world.reached("before-effect-send");
    const { signal, release } = eitherSignal(signals);
    let response: Response;
    let body: Uint8Array<ArrayBuffer>;
    try {
      response = await send(url, { redirect: "manual", ...init, headers, signal });
      body = new Uint8Array(await response.arrayBuffer());
    } catch (error) {
      if (init.redirect !== "follow" && wasNotSent(error)) throw error;
      throw new UnknownOutcomeError(`${init.method ?? "GET"} ${url.origin}${url.pathname}`, error, {
        who: "the service",
        next: step === undefined ? "Look there before you repeat it" : "Repeat it with the same step",
      });
    } finally {
      release();
    }
    world.reached("after-effect-reply");
    const refusal = refusalIn(response, body, token);
    if (refusal !== undefined) throw refusal;
    const { status, statusText, headers: answered } = response;
    return withBody(body, { status, statusText, headers: answered });
  }

  /** @throws {InvalidArgumentError} the answer is none of a guard's: something in front of it answers OPTIONS */
  async function asked(lease: HttpLease, extra: Partial<TokenField> = {}): Promise<Response> {
    const response = await request(lease, base, { method: "OPTIONS" }, extra);
    if (response.ok && response.headers.has(MARK_HEADER)) return response;
    throw new InvalidArgumentError(
      "url",
      `${new URL(base).href}, which answers OPTIONS with ${response.status}`,
      "the address of a route that hands OPTIONS to its httpGuard",
    );
  }

  return {
    level,
    fetch: (lease, path, init = {}) => request(lease, path, init),

    async advance(lease) {
      await asked(lease, { advance: true });
    },

    async probe(): Promise<ProbeResult> {
      const line = probeLine(world.ids.jobId());
      const token = { line, generation: generation(1), owner: world.ids.owner() };
      try {
        return (await (await asked({ token, effectScope: null })).json()) as ProbeResult;
      } catch (error) {
        return { isProven: false, why: (error as Error).message };
      }
    },
  };
}
