import { describe, expect, it } from "vitest";
import { history, type Server, server, standbys } from "../../../src/stores/postgres/doctor-findings.ts";

const HEALTHY: Server = {
  version: 180_001,
  version_text: "18.1",
  role: "app",
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  synchronous_standby_names: "",
  is_standby: false,
  may_create: true,
};

const STREAMING = { name: "b", state: "streaming", sync_state: "sync", lag_ms: 4, lag_bytes: 0 };

/** The levels and texts, one line a finding. */
function lines(change: Partial<Server>, ...rows: Partial<typeof STREAMING>[]): string[] {
  const found = standbys(
    { ...HEALTHY, ...change },
    rows.map((row) => ({ ...STREAMING, ...row })),
  );
  return found.map(({ level, found }) => `${level}: ${found}`);
}

describe("what doctor says of a server's version", () => {
  it("is a problem below 15, and a warning above the last that was tested", () => {
    expect(server({ ...HEALTHY, version: 140_020 })).toMatchObject({ level: "problem" });
    expect(server({ ...HEALTHY, version: 150_000 })).toMatchObject({ level: "ok" });
    expect(server({ ...HEALTHY, version: 190_000 })).toMatchObject({ level: "warning" });
  });
});

describe("what doctor says of standbys", () => {
  it("is well with a synchronous one, and with none at all", () => {
    expect(lines({})).toEqual(["ok: None is connected."]);
    expect(lines({ synchronous_standby_names: "b" }, {})).toEqual([
      "ok: b is sync and streaming, 0 bytes, 4 ms behind.",
    ]);
    expect(lines({ synchronous_standby_names: "any 1 (b, c)" }, { sync_state: "quorum" })).toHaveLength(1);
  });

  it("warns of writes that an asynchronous one may not have, with how far it lags", () => {
    expect(lines({}, { sync_state: "async", lag_bytes: 812 })).toEqual([
      expect.stringMatching(/^warning: b is async and streaming, 812 bytes, 4 ms behind\..*may be missing/),
    ]);
  });

  it("warns of commits that wait for a synchronous one that is not connected", () => {
    expect(lines({ synchronous_standby_names: "b" })[0]).toMatch(
      /^warning: .* asks for b, and none .* writes wait/,
    );
  });

  it("says when this user may not see them, and that a standby takes no writes", () => {
    const hidden = { state: null, sync_state: null } as never;
    expect(lines({ synchronous_standby_names: "b" }, hidden)).toEqual([
      expect.stringMatching(/^warning: 1 connected, but this user may not see/),
    ]);
    expect(lines({ is_standby: true })).toEqual([
      expect.stringMatching(/^problem: This server is a standby/),
    ]);
  });
});

describe("what doctor says of the server's history", () => {
  const row = { epoch: 3, system_id: 7, timeline: 2, current_system_id: 7, current_timeline: 2 };

  it("tells a promoted standby from another server", () => {
    expect(history(row)).toMatchObject({ level: "ok", found: expect.stringMatching(/the ones that/) });
    expect(history({ ...row, current_timeline: 3 })).toMatchObject({
      level: "ok",
      found: expect.stringMatching(/promoted since timeline 2; leases from before are refused/),
    });
    expect(history({ ...row, history_changed: true, current_system_id: 8 })).toMatchObject({
      level: "warning",
      found: expect.stringMatching(/system 8.*granted on system 7, timeline 2: this is another server/),
    });
  });
});
