import type { EffectLease, Guard } from "../../src/destinations/destination.ts";
import type { Pruned } from "../../src/destinations/pruned.ts";
import type { FencingToken, JobId } from "../../src/protocol/identity.ts";
import type { DestinationWorld, EffectRequest, EffectWriter } from "../../src/testing/index.ts";
import { signal } from "./signal.ts";

/** What the guards of both databases give a body to write with. */
interface Tx {
  query<Row>(text: string, params?: readonly unknown[]): Promise<{ rows: Row[] }>;
}

/** A guard, and how to look at and end what stands behind it. */
export interface GuardUnderTest {
  readonly guard: Guard<Tx> & { prune(below: JobId, limit?: number): Promise<Pruned> };
  /** Runs beside the guard. */
  query(text: string, params: readonly string[]): Promise<Record<string, unknown>[]>;
}

export interface GuardPlace {
  readonly first: GuardUnderTest;
  /** The table of effects, `(seq, line, value)`. */
  readonly table: string;
  another(): Promise<GuardUnderTest>;
  /** Whether a body may wait for something else than its transaction. */
  readonly bodiesMayWait: boolean;
  /** Ends all handles as SIGKILL does. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

function leaseOf(token: FencingToken, { scope }: EffectRequest): EffectLease {
  return { token, effectScope: scope ?? null };
}

function optionsOf({ step, request }: EffectRequest): { step?: string; request?: unknown } {
  return { ...(step === undefined ? {} : { step }), ...(request === undefined ? {} : { request }) };
}

/** One guarded database as the conformance suite sees it. An answer tells which row the effect became. */
export function guardWorld(place: GuardPlace): DestinationWorld {
  const { table, first } = place;
  const insert = async (tx: Tx, token: FencingToken, effect: string): Promise<string> => {
    const text = `insert into ${table} (line, value) values ($1, $2) returning seq`;
    const { rows } = await tx.query<{ seq: unknown }>(text, [token.line, effect]);
    return `${rows[0]?.seq}: ${effect}`;
  };
  const writerOn = ({ guard }: GuardUnderTest): EffectWriter => ({
    level: guard.level,
    write: async (token, options, effect) => ({
      answer: await guard.write(leaseOf(token, options), optionsOf(options), (tx) =>
        insert(tx, token, effect),
      ),
    }),
    advance: (token) => guard.advance(leaseOf(token, {})),
    markOf: (line) => guard.markOf(line),
    probe: () => guard.probe(),
  });
  return {
    writer: writerOn(first),
    another: async () => writerOn(await place.another()),
    effects: async (line) =>
      (await first.query(`select value from ${table} where line = $1 order by seq`, [line])).map(
        ({ value }) => String(value),
      ),
    writeWithoutToken: (line, effect) =>
      first.guard.write({ line, effectScope: null } as unknown as EffectLease, {}, (tx) =>
        insert(tx, { line } as FencingToken, effect),
      ),
    failInside: (token, options, effect) =>
      first.guard.write(leaseOf(token, options), optionsOf(options), async (tx) => {
        await insert(tx, token, effect);
        throw new Error("failed inside");
      }),
    ...(place.bodiesMayWait
      ? {
          async hold(token: FencingToken, options: EffectRequest, effect: string) {
            const [entered, goOn] = [signal(), signal()];
            const { guard } = await place.another();
            const written = guard.write(leaseOf(token, options), optionsOf(options), async (tx) => {
              const answer = await insert(tx, token, effect);
              entered.give();
              await goOn.given;
              return answer;
            });
            await Promise.race([entered.given, written]);
            return {
              finish: async () => {
                goOn.give();
                return { answer: await written };
              },
            };
          },
        }
      : {}),
    async restart() {
      await place.kill();
      return writerOn(await place.another());
    },
    async prune(below) {
      while (!(await first.guard.prune(below)).isDone);
    },
    close: () => place.close(),
  };
}
