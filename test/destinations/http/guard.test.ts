import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { writeKey, writeToken } from "../../../src/destinations/http/headers.ts";
import {
  EffectRunningError,
  type HttpHandle,
  httpGuard,
  StaleTokenError,
} from "../../../src/destinations/http/index.ts";
import { InvalidArgumentError, StoreBusyError } from "../../../src/errors.ts";
import { openDatabase } from "../../../src/stores/sqlite/index.ts";
import { type MemoryTx, memoryGuard } from "../../support/memory-guard.ts";
import { leaseOf } from "./world.ts";

const charge: HttpHandle<MemoryTx> = async (request, tx) => {
  const { cents } = (await request.json()) as { cents: number };
  tx.write(`${cents} cents`);
  return Response.json({ cents, receipt: tx.written.length }, { status: 201, headers: { location: "/r/1" } });
};

describe("httpGuard", () => {
  it("D2 makes the effect of a higher token and refuses a lower one, with both generations and the mark", async () => {
    const { guard, send } = world();
    expect((await send(8)).status).toBe(201);
    const refused = await send(7);
    expect(refused.status).toBe(409);
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(await refused.json()).toMatchObject({
      type: "urn:leasehold:stale-token",
      title: expect.any(String),
      status: 409,
      detail: expect.stringMatching(/generation 7 refused, the destination has seen 8/),
      token: leaseOf(7).token,
      mark: { generation: 8, owner: "owner-8" },
    });
    expect(guard.written).toEqual(["100 cents"]);
  });

  it("D4 answers a repeat, of a later generation too, with the first answer byte for byte", async () => {
    const { guard, send } = world();
    const first = await seen(await send(7, { step: "charge" }));
    expect(first).toMatchObject({ status: 201, body: '{"cents":100,"receipt":1}' });
    expect(await seen(await send(8, { step: "charge" }))).toEqual(first);
    expect(guard.written).toEqual(["100 cents"]);
    expect((await send(7, { step: "charge" })).status).toBe(409); // the replay has raised the mark
  });

  it("D4 keeps bytes that are no text, and answers without a body", async () => {
    for (const bytes of [[255, 128, 10], [0xef, 0xbb, 0xbf, 65], [0], []]) {
      const body = bytes.length === 0 ? null : new Uint8Array(bytes);
      const { guard, send } = world({}, () => new Response(body, { status: body === null ? 204 : 200 }));
      const first = await seen(await send(1, { step: "charge" }));
      expect(await seen(await send(1, { step: "charge" }))).toEqual(first);
      expect(first.body).toBe(Buffer.from(bytes).toString("latin1"));
      for (const stored of guard.answers()) expect(stored).not.toContain("\\u0000"); // databases refuse it
    }
  });

  it("D4 stores no cookie, nor gives one to whoever is first", async () => {
    const { send } = world({}, () => new Response("", { headers: { "set-cookie": "a=1", "x-kept": "yes" } }));
    for (const _ of ["first", "repeat"]) {
      const { headers } = await send(1, { step: "charge" });
      expect([headers.get("set-cookie"), headers.get("x-kept")]).toEqual([null, "yes"]);
    }
  });

  it("D4 refuses the same key with another body, path or method", async () => {
    const { guard, send } = world();
    await send(1, { step: "charge" });
    for (const other of [{ body: '{"cents":200}' }, { path: "/charges?n=2" }, { method: "PUT" }]) {
      const refused = await send(1, { step: "charge", ...other });
      expect([refused.status, await refused.json()]).toMatchObject([
        422,
        { type: "urn:leasehold:effect-mismatch" },
      ]);
    }
    expect(guard.written).toHaveLength(1);
  });

  it("D4 takes the sender's fingerprint for the body's, where its bytes differ from try to try", async () => {
    const { send } = world();
    expect((await send(1, { step: "charge", request: "abc" })).status).toBe(201);
    expect((await send(1, { step: "charge", request: "abc", body: '{ "cents": 100 }' })).status).toBe(201);
    expect((await send(1, { step: "charge", request: "abd" })).status).toBe(422);
  });

  it("D4 an answer from 500 up, or an error, leaves no record", async () => {
    let fault: (() => Response) | undefined = () => new Response("later", { status: 503 });
    const { guard, send } = world({}, (request, tx) => {
      if (fault === undefined) return charge(request, tx);
      tx.write("rolled back");
      return fault();
    });
    expect(await seen(await send(1, { step: "charge" }))).toMatchObject({ status: 503, body: "later" });
    fault = () => {
      throw new Error("disk on fire");
    };
    await expect(send(1, { step: "charge" })).rejects.toThrow("disk on fire");
    fault = undefined;
    expect((await send(1, { step: "charge" })).status).toBe(201);
    expect(guard.written).toEqual(["100 cents"]);
  });

  it("throws a refusal that the handler met elsewhere: it is none of this service's", async () => {
    const { send } = world({}, () => {
      throw new StaleTokenError(leaseOf(1).token, leaseOf(2).token);
    });
    await expect(send(1)).rejects.toThrow(StaleTokenError);
  });

  it("D7 refuses a line whose mark was pruned", async () => {
    const { guard, send } = world();
    guard.pruned.add(leaseOf(1).token.line);
    const refused = await send(1);
    expect([refused.status, await refused.json()]).toMatchObject([
      409,
      { type: "urn:leasehold:pruned-line" },
    ]);
  });

  it.each([
    ["D4 409 while the same effect is being made", new EffectRunningError("charge", 1500), 409, "2"],
    ["503 when the guard's database is busy", new StoreBusyError("write", 10_000), 503, "1"],
  ])("answers %s, and in how many seconds to ask again", async (_, error, status, seconds) => {
    const { guard, send } = world();
    guard.write = () => Promise.reject(error);
    const refused = await send(1);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([status, seconds]);
  });

  it("refuses a request without a token, or leaves it to `unfenced`", async () => {
    const request = (): Request => new Request("http://localhost/charges", { method: "POST" });
    const refused = await httpGuard({ guard: memoryGuard() })(request(), charge);
    expect([refused.status, await refused.json()]).toMatchObject([
      428,
      { type: "urn:leasehold:token-missing" },
    ]);
    const open = httpGuard({ guard: memoryGuard(), unfenced: () => new Response("as before") });
    expect(await (await open(request(), charge)).text()).toBe("as before");
    const malformed = new Request("http://localhost/", { headers: { "fencing-token": "7" } });
    expect((await open(malformed, charge)).status).toBe(400);
  });

  it.each([
    ["fencing-token", "7", 400, "malformed-token"],
    ["idempotency-key", '"charge"', 400, "malformed-token"],
    ["idempotency-key", undefined, 428, "key-missing"],
  ])("refuses a keyed request whose %s is %s, and writes nothing", async (name, value, status, kind) => {
    const { guard, send } = world();
    const refused = await send(1, { step: "charge", headers: { [name]: value } });
    expect([refused.status, await refused.json()]).toMatchObject([status, { type: `urn:leasehold:${kind}` }]);
    expect(guard.written).toEqual([]);
  });

  it("refuses a body that is too long before it makes anything", async () => {
    const { guard, send } = world({ maxBodyBytes: 12 });
    expect((await send(1)).status).toBe(413);
    expect((await send(1, { body: '{"cents":99}' })).status).toBe(201);
    expect(guard.written).toEqual(["99 cents"]);
    expect(() => httpGuard({ guard, maxBodyBytes: -1 })).toThrow(/maxBodyBytes/);
  });

  it("reads the request and the answer without leaving the turn, as a guard in SQLite asks of its body", async () => {
    let reply = charge;
    const guard = memoryGuard();
    const inOneTurn: typeof guard.write = (lease, effect, body) =>
      guard.write(lease, effect, (tx) => {
        // Asked for together, they have nothing but promises between them.
        return new Promise((resolve, reject) => {
          setImmediate(() => void Promise.resolve(body(tx)).then(resolve, reject));
          setImmediate(() => reject(new Error("the turn is over")));
        });
      });
    const guarded = httpGuard({ guard: { ...guard, write: inOneTurn } });
    expect((await guarded(requestOf(1), reply)).status).toBe(201);
    reply = () => new Promise(() => {});
    await expect(guarded(requestOf(1), reply)).rejects.toThrow("the turn is over");
  });
});

interface Sending {
  readonly step?: string;
  readonly request?: string;
  readonly body?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string | undefined>;
}

function world(options: { readonly maxBodyBytes?: number } = {}, handle = charge) {
  const guard = memoryGuard();
  const guarded = httpGuard({ guard, ...options });
  return { guard, send: (number: number, sending?: Sending) => guarded(requestOf(number, sending), handle) };
}

function requestOf(number: number, sending: Sending = {}): Request {
  const { step, request, body = '{"cents":100}', path = "/charges", method = "POST" } = sending;
  const { token, effectScope } = leaseOf(number);
  const keyed = step !== undefined;
  const headers = new Headers({ "fencing-token": writeToken({ token, keyed, ...(request && { request }) }) });
  if (keyed) headers.set("idempotency-key", writeKey(`${effectScope}/${step}`));
  for (const [name, value] of Object.entries(sending.headers ?? {})) {
    if (value === undefined) headers.delete(name);
    else headers.set(name, value);
  }
  return new Request(`http://localhost${path}`, { method, headers, body });
}

async function seen(response: Response): Promise<{ status: number; headers: unknown; body: string }> {
  const body = Buffer.from(await response.arrayBuffer()).toString("latin1");
  return { status: response.status, headers: [...response.headers], body };
}

describe("httpGuard on a database", () => {
  it("makes that kit's guard: mark and effect are in the service's own file", async () => {
    const database = await openDatabase(":memory:");
    onTestFinished(() => database.close());
    database.exec("create table charge (cents integer)");
    const guarded = httpGuard({ database });
    const send = (number: number) =>
      guarded(
        new Request("http://localhost/charges", {
          method: "POST",
          headers: { "Fencing-Token": writeToken({ token: leaseOf(number).token }) },
        }),
        async (_, tx) => {
          await tx.query("insert into charge values ($1)", [number]);
          return new Response(null, { status: 204 });
        },
      );
    expect([(await send(8)).status, (await send(7)).status]).toEqual([204, 409]);
    expect(database.prepare("select cents from charge").all()).toEqual([{ cents: 8 }]);
    expect(database.prepare("select generation from leasehold_mark").all()).toEqual([{ generation: 8 }]);
  });

  it("takes a pool of pg's as well, and nothing that is neither", () => {
    expect(httpGuard({ database: new pg.Pool() })).toBeTypeOf("function");
    for (const database of ["postgres://user:secret@host/db", undefined, {}]) {
      const making = () => httpGuard({ database: database as never });
      expect(making).toThrow(InvalidArgumentError);
      expect(making).not.toThrow("secret");
    }
  });
});
