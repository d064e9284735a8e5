import { getEventListeners } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import {
  EffectMismatchError,
  EffectRunningError,
  type HttpEffect,
  httpDestination,
  httpGuard,
  nodeHandler,
  PrunedLineError,
  StaleTokenError,
} from "../../../src/destinations/http/index.ts";
import { LeaseEndedError, LeaseNotTrustedError, UnknownOutcomeError } from "../../../src/errors.ts";
import { listening } from "../../support/http.ts";
import { memoryGuard } from "../../support/memory-guard.ts";
import { leaseOf } from "./world.ts";

const CHARGE = { method: "POST", body: "100 cents", step: "charge" } satisfies HttpEffect;

describe("httpDestination", () => {
  it("sends the token and the key, and hands on the answer", async () => {
    const { requests, to } = await service(
      (_, res) => void res.writeHead(402, { "x-why": "empty" }).end("no"),
    );
    const answer = await to.fetch(leaseOf(7), "/charges", { ...CHARGE, headers: { accept: "text/plain" } });
    expect([answer.status, answer.headers.get("x-why"), await answer.text()]).toEqual([402, "empty", "no"]);
    const { token, effectScope } = leaseOf(7);
    expect(requests[0]).toMatchObject({
      url: "/charges",
      method: "POST",
      headers: {
        accept: "text/plain",
        "fencing-token": `line="${token.line}", generation="7", owner="owner-7", keyed`,
        "idempotency-key": `"${effectScope}/charge"`,
      },
    });
  });

  it("ends a request at the time limit that it was given", async () => {
    const { requests, to } = await service(() => {}); // never answers
    const asked = to.fetch(leaseOf(7), "/charges", { ...CHARGE, signal: AbortSignal.timeout(300) });
    await expect(asked).rejects.toThrow(UnknownOutcomeError);
    expect(requests).toHaveLength(1);
  });

  it("leaves nothing behind with the signal of a lease that goes on", async () => {
    const { to } = await service((_, res) => void res.writeHead(204).end());
    const lease = { ...leaseOf(7), signal: new AbortController().signal };
    await to.fetch(lease, "/", { ...CHARGE, signal: new AbortController().signal });
    expect(getEventListeners(lease.signal, "abort")).toHaveLength(0);
  });

  it("sends a named lease's token without a key, and knows no step of it", async () => {
    const { requests, to } = await service((_, res) => void res.writeHead(204).end());
    const lease = leaseOf(1, { name: "nightly", effectScope: null });
    expect((await to.fetch(lease, "/", { method: "POST" })).status).toBe(204);
    expect(requests[0]?.headers).not.toHaveProperty("idempotency-key");
    await expect(to.fetch(lease, "/", CHARGE)).rejects.toThrow(/a named lease without a job has no run/);
    expect(requests).toHaveLength(1);
  });

  it("D6 a stale token is a StaleTokenError with the mark", async () => {
    const { to } = await guarded();
    await to.fetch(leaseOf(8), "/", CHARGE);
    const refusal = await to.fetch(leaseOf(7), "/", CHARGE).catch((error) => error);
    expect(refusal).toBeInstanceOf(StaleTokenError);
    expect(refusal).toMatchObject({ token: leaseOf(7).token, mark: { generation: 8, owner: "owner-8" } });
  });

  it("the other refusals are errors of their own", async () => {
    const { to, guard } = await guarded();
    await to.fetch(leaseOf(1), "/", CHARGE);
    await expect(to.fetch(leaseOf(1), "/", { ...CHARGE, body: "9" })).rejects.toThrow(EffectMismatchError);
    guard.pruned.add("lease:pruned");
    await expect(to.fetch(leaseOf(1, { name: "pruned" }), "/", CHARGE)).rejects.toThrow(PrunedLineError);
    guard.write = () => Promise.reject(new EffectRunningError("charge", 1500));
    await expect(to.fetch(leaseOf(1), "/", CHARGE)).rejects.toMatchObject({
      code: "LH_EFFECT_RUNNING",
      retryInMs: 1500,
    });
  });

  it("D4 `request` stands for a body whose bytes differ from try to try", async () => {
    const { to, guard } = await guarded();
    const form = (): HttpEffect => ({ ...CHARGE, body: formOf("cents", "100"), request: { cents: 100 } });
    const first = await (await to.fetch(leaseOf(1), "/", form())).text();
    expect(await (await to.fetch(leaseOf(2), "/", form())).text()).toBe(first);
    expect(guard.written).toHaveLength(1);
    const other = { ...form(), request: { cents: 200 } };
    await expect(to.fetch(leaseOf(2), "/", other)).rejects.toThrow(EffectMismatchError);
  });

  it("takes no conflict for its own refusal that tells of another token, or of none", async () => {
    const problem = { type: "urn:leasehold:stale-token", mark: { generation: 9, owner: "B" } };
    const bodies = [
      problem,
      { ...problem, token: leaseOf(6).token },
      { ...problem, token: leaseOf(7).token, mark: 9 },
    ];
    const answers = [...bodies.map((body) => JSON.stringify(body)), "no json"];
    const { to } = await service((_, res) => {
      res.writeHead(409, { "content-type": "application/problem+json" }).end(answers.shift());
    });
    while (answers.length > 0) expect((await to.fetch(leaseOf(7), "/", CHARGE)).status).toBe(409);
  });

  it("D4 takes the time to ask again from Retry-After, where that is all that is said", async () => {
    const problem = { type: "urn:leasehold:effect-running", token: leaseOf(7).token, key: "charge" };
    const { to } = await service((_, res) => {
      const headers = { "content-type": "application/problem+json; charset=utf-8", "retry-after": "3" };
      res.writeHead(409, headers).end(JSON.stringify(problem));
    });
    await expect(to.fetch(leaseOf(7), "/", CHARGE)).rejects.toMatchObject({ retryInMs: 3000 });
  });

  it.each<[string, RequestListener]>([
    ["the connection breaks after the request", (req) => void req.socket.destroy()],
    [
      "the answer breaks off",
      (req, res) =>
        void res.writeHead(200, { "content-length": 9 }).write("half", () => req.socket.destroy()),
    ],
  ])("D5 the outcome is unknown when %s", async (_, listener) => {
    const { to } = await service(listener);
    await expect(to.fetch(leaseOf(1), "/", CHARGE)).rejects.toThrow(UnknownOutcomeError);
  });

  it("D5 the outcome is unknown when the lease ends under way", async () => {
    const lease = new AbortController();
    const ended = new LeaseEndedError("lease_expired", leaseOf(1).token);
    const { to, requests } = await service(() => lease.abort(ended));
    const outcome = await to.fetch(leaseOf(1, { signal: lease.signal }), "/", CHARGE).catch((error) => error);
    expect(outcome).toBeInstanceOf(UnknownOutcomeError);
    expect(outcome.cause).toBe(ended);
    await expect(to.fetch(leaseOf(1, { signal: lease.signal }), "/", CHARGE)).rejects.toBe(ended);
    expect(requests).toHaveLength(1);
  });

  it("W5 starts nothing without trust, nor after a signal of the caller's", async () => {
    const { to, requests } = await service((_, res) => void res.end());
    const assertTrusted = (): never => {
      throw new LeaseNotTrustedError(leaseOf(1).token, "its trust has ended");
    };
    await expect(to.fetch(leaseOf(1, { assertTrusted }), "/", CHARGE)).rejects.toThrow(LeaseNotTrustedError);
    const signal = AbortSignal.abort(new Error("not wanted any more"));
    await expect(to.fetch(leaseOf(1), "/", { ...CHARGE, signal })).rejects.toThrow("not wanted any more");
    expect(requests).toEqual([]);
  });

  it("says plainly that nothing was sent where nobody listens", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    for (const host of ["127.0.0.1", "localhost"]) {
      const to = httpDestination({ url: `http://${host}:${port}` });
      const error = await to.fetch(leaseOf(1), "/", CHARGE).catch((error) => error);
      expect(error).toBeInstanceOf(TypeError);
    }
  });

  it("follows no redirect, which would show the token to another host, unless asked to", async () => {
    const { to, requests } = await service((req, res) => {
      if (req.url === "/old") res.writeHead(307, { location: "/new" });
      res.end();
    });
    expect((await to.fetch(leaseOf(1), "/old", CHARGE)).status).toBe(307);
    expect((await to.fetch(leaseOf(1), "/old", { ...CHARGE, redirect: "follow" })).status).toBe(200);
    expect(requests.map(({ url }) => url)).toEqual(["/old", "/old", "/new"]);
  });

  it("D3 advance raises the mark and makes no effect", async () => {
    const { to, guard } = await guarded();
    await to.advance(leaseOf(8));
    expect(await guard.markOf(leaseOf(8).token.line)).toEqual({ generation: 8, owner: "owner-8" });
    await expect(to.fetch(leaseOf(7), "/", CHARGE)).rejects.toThrow(StaleTokenError);
    await expect(to.advance(leaseOf(7))).rejects.toThrow(StaleTokenError);
    expect(guard.written).toEqual([]);
  });

  it("D9 proves a guarded service, and no other", async () => {
    const { to, guard } = await guarded();
    expect(await to.probe()).toEqual({ isProven: true });
    expect(guard.written).toEqual([]);
    guard.probe = async () => ({ isProven: false, why: "a stale token was admitted" });
    expect(await to.probe()).toEqual({ isProven: false, why: "a stale token was admitted" });

    const unguarded = await service((_, res) => void res.writeHead(204).end());
    expect(await unguarded.to.probe()).toMatchObject({
      isProven: false,
      why: expect.stringMatching(/OPTIONS with 204/),
    });
    await expect(unguarded.to.advance(leaseOf(1))).rejects.toThrow(/hands OPTIONS to its httpGuard/);
  });

  it("D8 tells its level", () => {
    expect(httpDestination({ url: "http://a" }).level).toBe("fenced + deduplicated");
    expect(httpDestination({ url: "http://a", level: "deduplicated" }).level).toBe("deduplicated");
    expect(() => httpDestination({ url: "a" })).toThrow(/url: received "a"/);
  });
});

async function service(listener: RequestListener) {
  const requests: IncomingMessage[] = [];
  const url = await listening((req, res) => {
    requests.push(req);
    req.resume().once("end", () => listener(req, res));
  });
  return { requests, to: httpDestination({ url }) };
}

async function guarded() {
  const guard = memoryGuard();
  const enter = httpGuard({ guard });
  const url = await listening(
    nodeHandler((request) =>
      enter(request, async (request, tx) => {
        tx.write(await request.text());
        return new Response(`receipt ${guard.written.length}`);
      }),
    ),
  );
  return { guard, to: httpDestination({ url }) };
}

function formOf(name: string, value: string): FormData {
  const form = new FormData();
  form.set(name, value);
  return form;
}
