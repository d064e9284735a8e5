/** The HTTP guard over the wire, in each server that the docs name, with and without a proxy in between. */

import { expect, it } from "vitest";
import {
  EffectMismatchError,
  EffectRunningError,
  httpDestination,
  httpGuard,
  StaleTokenError,
} from "../../src/destinations/http/index.ts";
import { leaseOf } from "../destinations/http/world.ts";
import { listening, proxyWithout } from "../support/http.ts";
import { memoryGuard } from "../support/memory-guard.ts";
import { optional } from "../support/optional.ts";
import { FRAMEWORKS, type Framework } from "./frameworks.ts";
import { missingLibraries } from "./libraries.ts";

for (const framework of FRAMEWORKS) {
  const lack = framework.name === "node:http" ? undefined : missingLibraries();
  optional(`httpGuard in ${framework.name}`, lack, () => {
    it("D2 refuses a stale token", async () => {
      const { charge, guard } = await billing(framework);
      await charge(8, 100);
      await expect(charge(7, 100)).rejects.toThrow(StaleTokenError);
      expect(guard.written).toEqual(["100 cents"]);
    });

    it("D4 answers a repeat as the first, and refuses another request under its key", async () => {
      const { charge, guard } = await billing(framework);
      const first = await charge(7, 100);
      expect([first.status, first.headers.get("location")]).toEqual([201, "/receipts/100"]);
      const repeat = await charge(8, 100);
      expect([repeat.status, repeat.headers.get("location")]).toEqual([201, "/receipts/100"]);
      expect(await repeat.text()).toBe(await first.text());
      await expect(charge(8, 200)).rejects.toThrow(EffectMismatchError);
      expect(guard.written).toEqual(["100 cents"]);
    });

    it("D4 tells a repeat of an effect under way when to ask again", async () => {
      const { charge, hold } = await billing(framework);
      const held = hold();
      const first = charge(7, 100);
      await held.reached;
      await expect(charge(7, 100)).rejects.toThrow(EffectRunningError);
      held.release();
      expect((await first).status).toBe(201);
    });

    it("D3 D9 hears what is asked with OPTIONS", async () => {
      const { charge, to } = await billing(framework);
      expect(await to.probe()).toEqual({ isProven: true });
      await to.advance(leaseOf(8));
      await expect(charge(7, 100)).rejects.toThrow(StaleTokenError);
    });

    it.each(["Fencing-Token", "Idempotency-Key"])(
      "refuses what came through a proxy without its %s",
      async (header) => {
        const { url, guard } = await billing(framework);
        const { charge } = through(await proxyWithout(header, url));
        const refused = await charge(7, 100);
        expect(refused.status).toBe(428);
        const { detail } = (await refused.json()) as { detail: string };
        expect(detail).toContain(header);
        expect(detail).toMatch(/a proxy on the way has dropped it.* Nothing was written/);
        expect(guard.written).toEqual([]);
        expect((await through(await proxyWithout("X-Other", url)).charge(7, 100)).status).toBe(201);
      },
    );
  });
}

async function billing(framework: Framework) {
  const guard = memoryGuard();
  const guarded = httpGuard({ guard });
  let gate: Promise<void> | undefined;
  let onReached = (): void => {};
  const url = await listening(
    await framework.listener((request) =>
      guarded(request, async (request, tx) => {
        const { cents } = (await request.json()) as { cents: number };
        onReached();
        await gate;
        tx.write(`${cents} cents`);
        return Response.json({ cents }, { status: 201, headers: { location: `/receipts/${cents}` } });
      }),
    ),
  );
  const hold = () => {
    let release = (): void => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    const reached = new Promise<void>((resolve) => {
      onReached = resolve;
    });
    return { reached, release };
  };
  return { url, guard, hold, ...through(url) };
}

function through(url: string) {
  const to = httpDestination({ url: `${url}/charges` });
  const charge = (number: number, cents: number): Promise<Response> =>
    to.fetch(leaseOf(number), "", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ cents }),
      step: "charge",
    });
  return { to, charge };
}
