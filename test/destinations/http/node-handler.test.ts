import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { httpGuard, nodeHandler } from "../../../src/destinations/http/index.ts";
import { listening } from "../../support/http.ts";
import { memoryGuard } from "../../support/memory-guard.ts";

describe("nodeHandler", () => {
  it("brings method, path, headers and body in, and status, headers, cookies and body out", async () => {
    const url = await listening(
      nodeHandler(async (request) => {
        const { pathname, search } = new URL(request.url);
        const body = `${request.method} ${pathname}${search} ${request.headers.get("x-two")} ${await request.text()}`;
        const headers = new Headers({ "content-type": "text/plain" });
        headers.append("set-cookie", "a=1");
        headers.append("set-cookie", "b=2");
        return new Response(body, { status: 201, headers });
      }),
    );
    const headers = { "x-two": "1, 2" };
    const answer = await fetch(`${url}//a%20b?c=d`, { method: "PATCH", body: "é", headers });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([201, ["a=1", "b=2"]]);
    expect(await answer.text()).toBe("PATCH /a%20b?c=d 1, 2 é");
    expect(await (await fetch(url, { headers })).text()).toBe("GET / 1, 2 ");
  });

  it("takes the whole path where a router has shortened it", async () => {
    const handler = nodeHandler((request) => new Response(new URL(request.url).pathname));
    const url = await listening((req, res) => {
      void handler(Object.assign(req, { originalUrl: req.url, url: "/" }), res);
    });
    expect(await (await fetch(`${url}/billing/charges`)).text()).toBe("/billing/charges");
  });

  it("answers a body that is too long while its sender is still sending", async () => {
    const guarded = httpGuard({ guard: memoryGuard(), maxBodyBytes: 10 });
    const url = await listening(nodeHandler((request) => guarded(request, () => new Response())));
    const token = 'line="lease:a", generation="1", owner="A"';
    const headers = { "fencing-token": token };
    const answer = await fetch(url, { method: "POST", headers, body: Buffer.alloc(3_000_000) });
    expect(answer.status).toBe(413);
  });

  it("answers 500 without saying why, and tells onError", async () => {
    const errors: unknown[] = [];
    const fault = new Error("secret");
    const failing = (): never => {
      throw fault;
    };
    const url = await listening(nodeHandler(failing, { onError: (error) => errors.push(error) }));
    const answer = await fetch(url);
    expect([answer.status, await answer.text(), errors]).toEqual([500, "", [fault]]);

    const warned = once(process, "warning");
    await fetch(await listening(nodeHandler(failing)));
    expect(await warned).toEqual([fault]);
  });

  it("refuses to stand behind something that has read the body", async () => {
    const handler = nodeHandler((request) => Response.json(request.url));
    const url = await listening((req, res) => {
      req.resume().once("end", () => void handler(req, res, (error) => res.end(String(error))));
    });
    const answer = await fetch(url, { method: "POST", body: "read" });
    expect(await answer.text()).toMatch(/in front of what parses bodies/);
  });
});
