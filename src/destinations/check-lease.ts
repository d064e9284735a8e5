import { InvalidArgumentError } from "../errors.ts";
import { type FencingToken, generation, owner } from "../protocol/identity.ts";
import type { EffectLease } from "./destination.ts";

/**
 * The token to be shown: asked for before anything is sent, since a service may have rebuilt it from a request.
 *
 * @throws {LeaseNotTrustedError} no new effect may start (W5)
 * @throws {InvalidArgumentError} it is no token: its comparison with a mark would mean nothing
 */
export function checkLease(lease: EffectLease): FencingToken {
  lease.assertTrusted?.();
  const token = lease.token as FencingToken | undefined;
  if (typeof token?.line !== "string" || token.line === "")
    throw new InvalidArgumentError("lease.token", token, "a lease's fencing token");
  generation(token.generation);
  owner(token.owner);
  return token;
}
