/** The kinds of destination that `demo` and `drill` can write to, and how `--destination` names them. */

import { usageError } from "../exit.ts";
import type { Account, AccountPlace, OpenAccount } from "./account.ts";

interface Kind {
  /** For kinds that need a server: how its address begins, and how it looks. */
  readonly server?: { readonly scheme: RegExp; readonly example: string };
  /** It refuses nothing, so the demo's story cannot be told with it. */
  readonly isBlind?: true;
  /** Loaded when it is chosen. */
  load(): Promise<OpenAccount>;
}

export type KindName = "sqlite" | "postgres" | "http" | "redis" | "file" | "blind";

const KINDS: Readonly<Record<KindName, Kind>> = {
  sqlite: { load: async () => (await import("./sqlite.ts")).openSqlite },
  postgres: {
    server: { scheme: /^postgres(ql)?:\/\//, example: "postgres://USER:PASSWORD@HOST:PORT/DATABASE" },
    load: async () => (await import("./postgres.ts")).openPostgres,
  },
  http: { load: async () => (await import("./http.ts")).openHttp },
  redis: {
    server: { scheme: /^rediss?:\/\//, example: "redis://HOST:PORT" },
    load: async () => (await import("./redis.ts")).openRedis,
  },
  file: { load: async () => (await import("./file.ts")).openFile },
  blind: { isBlind: true, load: async () => (await import("./blind.ts")).openBlind },
};

export type Choice = Pick<AccountPlace, "kind" | "address">;

export const DEFAULT_DESTINATION: Choice = { kind: "sqlite", address: "" };

const all = Object.entries(KINDS) as [KindName, Kind][];
const fenced = all.filter(([, { isBlind }]) => !isBlind);

/** What `--destination` takes, for people: where everything is fenced, or `withBlind`. */
export function choices({ withBlind }: { readonly withBlind: boolean }): string {
  return (withBlind ? all : fenced).map(([name, { server }]) => server?.example ?? name).join(", ");
}

/** A kind, or for those that need a server its address. What was given is not repeated: it may hold a password. */
export function destinationChoice(options: { readonly withBlind: boolean }): (text: string) => Choice {
  return (text) => {
    for (const [kind, { server }] of options.withBlind ? all : fenced) {
      if (server?.scheme.test(text)) return { kind, address: text };
      if (text !== kind) continue;
      if (server === undefined) return { kind, address: "" };
      throw usageError(`--destination ${kind} needs a server. Give its address, ${server.example}.`);
    }
    throw usageError(`--destination: give one of ${choices(options)}.`);
  };
}

export async function openAccount(place: AccountPlace): Promise<Account> {
  const open = await KINDS[place.kind].load();
  return open(place);
}
