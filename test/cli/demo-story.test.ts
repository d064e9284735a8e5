import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Account, Entry } from "../../src/cli/accounts/account.ts";
import type { Cast } from "../../src/cli/demo/cast.ts";
import type { Report, Step, Who } from "../../src/cli/demo/report.ts";
import { play } from "../../src/cli/demo/story.ts";
import { storeAt, storeLocation } from "../../src/cli/store-url.ts";
import { systemWorld } from "../../src/clock/system.ts";
import { folder } from "./support.ts";

type Reports = Record<Who, Partial<Record<Step, Partial<Report>>>>;

const AS_IT_SHOULD_BE: Reports = {
  A: {
    "given-back": { generation: 6 },
    claimed: { generation: 7 },
    paid: { outcome: "applied", receipt: "1" },
    renewal: { outcome: "stale", generation: 7, current: 8 },
    completion: { outcome: "stale", generation: 7, current: 8 },
    write: {
      outcome: "refused",
      generation: 7,
      current: 8,
      message: "a write with generation 7 refused, the destination has seen 8.",
    },
    "payment-repeated": { outcome: "replayed", receipt: "1" },
  },
  B: { claimed: { generation: 8 }, completion: { outcome: "applied" } },
};

interface Landed {
  readonly entries: readonly Entry[];
  readonly payments: number;
  readonly isProven: boolean;
}

const LANDED: Landed = {
  entries: [{ line: "job:1", generation: 8, cents: 1_999 }],
  payments: 1,
  isProven: true,
};

/** Which checks fail when the players report this; the store, which has seen none of it, fails two of its own. */
async function failing(reports: Reports, landed: Partial<Landed> = {}): Promise<string[]> {
  const { entries, payments, isProven } = { ...LANDED, ...landed };
  const server = createServer((_, response) => response.end(JSON.stringify({ payments }))).listen(
    0,
    "127.0.0.1",
  );
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const home = folder();
  const location = storeLocation(join(home, "store.db"));
  const store = await storeAt(location, { create: true });
  onTestFinished(() => store.close());
  const account: Account = {
    destination: {
      level: "fenced",
      probe: async () => (isProven ? { isProven } : { isProven, why: "It was admitted." }),
    },
    credit: async () => {},
    entries: async () => entries,
    close: async () => {},
  };
  const cast: Cast = {
    startService: async () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    startPlayer: ({ who }) => ({
      who,
      pid: process.pid, // SIGCONT does nothing to one that runs
      hear: async (step) => ({ step, outcome: "applied", generation: 0, ...reports[who][step] }),
      tell() {},
    }),
    dismiss() {},
  };
  const place = { kind: "sqlite", address: "", folder: home, name: "demo" } as const;
  const openAccount = async (): Promise<Account> => account;
  const stage = { store, location, place, openAccount, cast, world: systemWorld(), tell() {} };
  const { checks } = await play(stage);
  return checks.filter(({ ok }) => !ok).map(({ what }) => what);
}

const OF_THE_STORE = [
  "B completed the job, which ended once",
  "the journal has both refusals with both generations, and one end",
];

const WRITE = "A's write was refused, because 7 < 8, and the message says so";

describe("the demo's checks", () => {
  it("hold for what should happen", async () => expect(await failing(AS_IT_SHOULD_BE)).toEqual(OF_THE_STORE));

  for (const [step, seen, missing] of [
    ["renewal", { outcome: "applied", generation: 7 }, "A's renewal was refused as stale"],
    ["completion", { outcome: "applied", generation: 7 }, "A's completion was refused as stale"],
    ["completion", { outcome: "stale", generation: 7, current: 7 }, "A's completion was refused as stale"],
    ["write", { outcome: "applied", generation: 7, current: 8 }, WRITE],
    ["write", { outcome: "refused", generation: 7, current: 8, message: "no" }, WRITE],
    [
      "payment-repeated",
      { outcome: "applied", receipt: "2" },
      "A's repeated payment was answered from the first one's record",
    ],
    ["claimed", { generation: 6 }, "A holds generation 7"],
  ] as const) {
    it(`fail when A's ${step} is ${JSON.stringify(seen)}`, async () => {
      const reports = { ...AS_IT_SHOULD_BE, A: { ...AS_IT_SHOULD_BE.A, [step]: seen } };
      expect(await failing(reports)).toEqual(expect.arrayContaining([...OF_THE_STORE, missing]));
    });
  }

  it("fail when an effect happened twice, or is the late one", async () => {
    const what = "each effect happened once: one write to the account, one payment";
    for (const landed of [
      { entries: [...LANDED.entries, ...LANDED.entries] },
      { entries: [{ line: "job:1", generation: 7, cents: 1_999 }] },
      { payments: 2 },
    ])
      expect(await failing(AS_IT_SHOULD_BE, landed)).toContain(what);
  });

  it("fail when the destination admits a stale write that is made to try it", async () => {
    expect(await failing(AS_IT_SHOULD_BE, { isProven: false })).toContain(
      "the destination refused a stale write when it was tried",
    );
  });
});
