import type { World } from "../clock/world.ts";
import { LeaseHeldError, UnknownOutcomeError } from "../errors.ts";
import { type FencingToken, leaseLine, type Owner } from "../protocol/identity.ts";
import type { Instant } from "../protocol/trust.ts";
import type { Store } from "../stores/store.ts";
import { instant } from "./held-lease.ts";

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;

export interface Acquiring {
  readonly name: string;
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly timeoutMs: number;
}

export interface Acquired {
  readonly token: FencingToken;
  /** Both clocks before the request that was granted was sent. */
  readonly sent: Instant;
}

/**
 * Acquires a named lease under an owner made for this one acquisition, waiting up to `waitMs` while it is held: until
 * somebody rings, or it must have lapsed, or the poll comes round.
 *
 * @throws {LeaseHeldError} it was not free in time
 * @throws the reason of the first signal that fires
 */
export async function acquired(
  world: World,
  store: Store,
  { name, leaseMs, waitMs, timeoutMs }: Acquiring,
  signals: readonly AbortSignal[],
): Promise<Acquired> {
  const owner = world.ids.owner();
  const startMs = world.clock.monotonicMs();
  let wake = new AbortController();
  const ring = (): void => wake.abort();
  const listener = store.listen(ring);
  for (const signal of signals) signal.addEventListener("abort", ring, { once: true });
  let pollMs = FIRST_WAIT_MS;
  try {
    for (;;) {
      for (const signal of signals) signal.throwIfAborted();
      wake = new AbortController();
      listener.arm();
      const sent = instant(world.clock);
      const answer = await asked(store, owner, name, leaseMs, timeoutMs);
      if (answer.outcome === "applied") return { token: answer.token, sent };
      const waitedMs = world.clock.monotonicMs() - startMs;
      if (waitedMs >= waitMs) throw new LeaseHeldError(name, answer.remainingMs, Math.round(waitedMs));
      const jitteredMs = pollMs * (0.5 + world.random.next());
      await world.timers.sleep(Math.min(jitteredMs, answer.remainingMs + 1, waitMs - waitedMs), wake.signal);
      pollMs = Math.min(pollMs * 2, LONGEST_WAIT_MS);
    }
  } finally {
    listener.close();
    for (const signal of signals) signal.removeEventListener("abort", ring);
  }
}

type Answer =
  | { readonly outcome: "applied"; readonly token: FencingToken }
  | { readonly outcome: "held"; readonly remainingMs: number };

/** An acquisition without an answer may have happened (C11): then the lease names our owner, which nobody else has. */
async function asked(
  store: Store,
  owner: Owner,
  name: string,
  leaseMs: number,
  timeoutMs: number,
): Promise<Answer> {
  try {
    return await store.acquire({ name, owner, leaseMs }, { timeoutMs });
  } catch (error) {
    if (!(error instanceof UnknownOutcomeError)) throw error;
    const found = await store.getLease(name, { timeoutMs });
    if (found?.owner !== owner) throw error;
    return { outcome: "applied", token: { line: leaseLine(name), generation: found.generation, owner } };
  }
}
