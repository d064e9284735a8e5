import { describe, expect, it } from "vitest";
import type { Lease } from "../../src/client/handler.ts";
import {
  InvalidArgumentError,
  LeaseEndedError,
  LeaseHeldError,
  UnknownOutcomeError,
} from "../../src/errors.ts";
import { gate, testWorld } from "./world.ts";

describe("withLease", () => {
  it("calls fn under the lease, gives back what it returned, and gives the lease up", async () => {
    const { leasehold, store, world } = testWorld();
    const tokens: unknown[] = [];
    const first = await leasehold.withLease("report", {}, (lease) => {
      tokens.push(lease.token);
      return "done";
    });
    await leasehold.withLease("report", {}, (lease) => tokens.push(lease.token));
    expect(first).toBe("done");
    expect(tokens).toMatchObject([
      { line: "lease:report", generation: 1 },
      { line: "lease:report", generation: 2 },
    ]);
    expect(await store.getLease("report", { timeoutMs: 1_000 })).toMatchObject({ owner: null });
    await leasehold.close();
    expect(world.pendingTimers).toBe(0);
  });

  it("gives the lease up when fn throws, too", async () => {
    const { leasehold, store } = testWorld();
    await expect(
      leasehold.withLease("report", {}, () => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await store.getLease("report", { timeoutMs: 1_000 })).toMatchObject({ owner: null });
  });

  it("uses another owner for each acquisition, also in one process", async () => {
    const { leasehold } = testWorld();
    const owners = new Set<string>();
    for (let i = 0; i < 3; i++)
      await leasehold.withLease("report", {}, ({ token }) => owners.add(token.owner));
    expect(owners.size).toBe(3);
  });

  it("is refused at once when somebody holds it, and says for how long yet", async () => {
    const { leasehold, world, another } = testWorld();
    const hold = gate();
    const holder = another().withLease("report", { leaseMs: 5_000 }, () => hold.promise);
    await world.settle();
    await expect(leasehold.withLease("report", {}, () => 1)).rejects.toMatchObject({
      code: "LH_LEASE_HELD",
      remainingMs: 5_000,
    });
    hold.open();
    await holder;
  });

  it("waits for it, and has it as soon as it is given up", async () => {
    const { leasehold, world, another } = testWorld();
    const hold = gate();
    let got = false;
    const holder = another().withLease("report", {}, () => hold.promise);
    await world.settle();
    const waiter = leasehold.withLease("report", { waitMs: 60_000 }, () => (got = true));
    await world.advance(20_000);
    expect(got).toBe(false);
    hold.open();
    await holder;
    await world.advance(2_100);
    expect(got).toBe(true);
    await waiter;
  });

  it("waits no longer than waitMs", async () => {
    const { leasehold, world, another } = testWorld();
    const hold = gate();
    const holder = another().withLease("report", {}, () => hold.promise);
    await world.settle();
    const waiter = leasehold.withLease("report", { waitMs: 1_000 }, () => 1);
    const refused = expect(waiter).rejects.toBeInstanceOf(LeaseHeldError);
    await world.advance(1_000);
    await refused;
    hold.open();
    await holder;
  });

  it("takes over a lease whose holder is gone when it has lapsed, not before", async () => {
    const { leasehold, world, mortal } = testWorld();
    const dead = mortal();
    void dead.leasehold.withLease("report", { leaseMs: 1_000 }, () => new Promise(() => {}));
    await world.settle();
    dead.kill();
    let generation: number | undefined;
    const waiter = leasehold.withLease(
      "report",
      { waitMs: 10_000 },
      ({ token }) => (generation = token.generation),
    );
    await world.advance(990);
    expect(generation).toBeUndefined();
    await world.advance(20);
    await waiter;
    expect(generation).toBe(2);
  });

  it("stops waiting when its signal fires, with the signal's reason", async () => {
    const { leasehold, world, another } = testWorld();
    const hold = gate();
    const holder = another().withLease("report", {}, () => hold.promise);
    await world.settle();
    const over = new AbortController();
    const waiter = leasehold.withLease("report", { waitMs: 60_000, signal: over.signal }, () => 1);
    const refused = expect(waiter).rejects.toThrow("enough");
    await world.advance(100);
    over.abort(new Error("enough"));
    await refused;
    hold.open();
    await holder;
  });

  it("renews the lease for as long as fn runs", async () => {
    const { leasehold, world, another } = testWorld();
    const hold = gate();
    let lease: Lease | undefined;
    const holder = leasehold.withLease("report", { leaseMs: 600 }, (held) => {
      lease = held;
      return hold.promise;
    });
    await world.advance(10_000);
    expect(lease?.state).toBe("held");
    lease?.assertTrusted();
    await expect(another().withLease("report", {}, () => 1)).rejects.toBeInstanceOf(LeaseHeldError);
    hold.open();
    await holder;
  });

  it("fires the lease's signal when trust ends, before anybody else can have it; fn still decides how it ends", async () => {
    const { leasehold, world, store, another } = testWorld();
    const hold = gate<string>();
    let lease: Lease | undefined;
    const holder = leasehold.withLease("report", { leaseMs: 1_000 }, (held) => {
      lease = held;
      return hold.promise;
    });
    await world.settle();
    store.before("renewLeases", () => {
      throw new UnknownOutcomeError("renew", "partition");
    });
    await world.advance(950);
    expect(lease?.signal.aborted).toBe(true);
    expect(lease?.signal.reason).toBeInstanceOf(LeaseEndedError);
    expect(lease?.signal.reason).toMatchObject({ reason: "lease_expired" });
    await expect(another().withLease("report", {}, () => 1)).rejects.toBeInstanceOf(LeaseHeldError);
    await world.advance(100);
    expect(await another().withLease("report", {}, ({ token }) => token.generation)).toBe(2);
    hold.open("late");
    expect(await holder).toBe("late");
    expect(lease?.state).toBe("ended");
  });

  it("adopts an acquisition whose answer got lost, instead of waiting for itself", async () => {
    const { leasehold, store } = testWorld();
    let lost = 1;
    store.after("acquire", () => {
      if (lost-- > 0) throw new UnknownOutcomeError("acquire", "time-out");
    });
    expect(await leasehold.withLease("report", {}, ({ token }) => token.generation)).toBe(1);
  });

  it("fires with `shutdown` when the client is closed", async () => {
    const { leasehold, world } = testWorld();
    let reason: unknown;
    const holder = leasehold.withLease(
      "report",
      {},
      (lease) =>
        new Promise<void>((resolve) =>
          lease.signal.addEventListener("abort", () => {
            reason = lease.signal.reason;
            resolve();
          }),
        ),
    );
    await world.settle();
    const closing = leasehold.close();
    await world.advance(50);
    await Promise.all([closing, holder]);
    expect(reason).toMatchObject({ reason: "shutdown" });
  });

  it.each([
    ["an empty name", "", {}],
    ["a name over 255 bytes", "é".repeat(128), {}],
    ["a lease under 250 ms", "x", { leaseMs: 100 }],
    ["a negative wait", "x", { waitMs: -1 }],
    ["a wait that is no number", "x", { waitMs: Number.NaN }],
  ])("refuses %s", async (_what, name, options) => {
    const { leasehold } = testWorld();
    await expect(leasehold.withLease(name, options, () => 1)).rejects.toBeInstanceOf(InvalidArgumentError);
  });
});
