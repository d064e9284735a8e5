import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Guard } from "../../src/destinations/destination.ts";
import { httpDestination, httpGuard, nodeHandler } from "../../src/destinations/http/index.ts";
import type { FencingToken } from "../../src/protocol/identity.ts";
import type { DestinationWorld, EffectRequest, EffectWriter } from "../../src/testing/index.ts";
import { signal } from "./signal.ts";

interface Tx {
  query<Row>(text: string, params?: readonly unknown[]): Promise<{ rows: Row[] }>;
}

interface Effect {
  readonly line: string;
  readonly effect: string;
  readonly fails?: boolean;
  /** The handler tells that it has made the effect, and waits. */
  readonly isHeld?: boolean;
}

/** What stands behind the service: another kit's guard, with a table of effects `(seq, line, value)`. */
export interface Behind {
  /** A handle that shares nothing with others but the place. */
  open(): Promise<Guard<Tx>>;
  readonly table: string;
  /** Whether a handler may wait for something else than its transaction. */
  readonly bodiesMayWait: boolean;
  readonly world: DestinationWorld;
}

/** An HTTP service in front of a guard, as the conformance suite sees it from the other end of the wire. */
export async function httpGuardWorld(behind: Behind): Promise<DestinationWorld> {
  const { table, bodiesMayWait, world } = behind;
  let guard = await behind.open();
  let onHeld = async (): Promise<void> => {};
  const handler = nodeHandler((request) =>
    httpGuard({ guard })(request, async (asked, tx) => {
      const { line, effect, fails, isHeld } = (await asked.json()) as Effect;
      const text = `insert into ${table} (line, value) values ($1, $2) returning seq`;
      const { rows } = await tx.query<{ seq: unknown }>(text, [line, effect]);
      if (isHeld) await onHeld();
      return fails ? new Response("failed inside", { status: 500 }) : Response.json([rows[0]?.seq, effect]);
    }),
  );
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/effects`;

  const post = async (
    token: FencingToken,
    { step, request, scope }: EffectRequest,
    effect: Effect,
  ): Promise<{ answer: string }> => {
    const response = await httpDestination({ url }).fetch({ token, effectScope: scope ?? null }, url, {
      method: "POST",
      body: JSON.stringify(effect),
      ...(step === undefined ? {} : { step }),
      // Bodies differ where the suite repeats a step with another effect, which is to be answered with the first one's.
      request: request ?? null,
    });
    const answer = await response.text();
    if (!response.ok) throw new Error(answer);
    return { answer };
  };
  const writer: EffectWriter = {
    level: httpDestination({ url }).level,
    write: (token, options, effect) => post(token, options, { line: token.line, effect }),
    advance: (token) => httpDestination({ url }).advance({ token, effectScope: null }),
    markOf: (line) => guard.markOf(line),
    probe: () => httpDestination({ url }).probe(),
  };
  return {
    writer,
    another: async () => writer, // each request is one of its own
    effects: (line) => world.effects(line),
    async writeWithoutToken(line, effect) {
      const response = await fetch(url, { method: "POST", body: JSON.stringify({ line, effect }) });
      if (!response.ok) throw new Error(await response.text());
    },
    failInside: (token, options, effect) => post(token, options, { line: token.line, effect, fails: true }),
    ...(bodiesMayWait && {
      async hold(token: FencingToken, options: EffectRequest, effect: string) {
        const [entered, goOn] = [signal(), signal()];
        onHeld = () => {
          entered.give();
          return goOn.given;
        };
        const written = post(token, options, { line: token.line, effect, isHeld: true });
        await Promise.race([entered.given, written]);
        return {
          finish() {
            goOn.give();
            return written;
          },
        };
      },
    }),
    async restart() {
      await world.restart?.();
      guard = await behind.open(); // the one that the service had is dead
      return writer;
    },
    prune: async (below) => world.prune?.(below),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await world.close();
    },
  };
}
