/** The service of examples/express-service, as it is, in the real Express and a process of its own. */

import { copyFileSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { httpDestination, httpGuard, StaleTokenError } from "../../src/destinations/http/index.ts";
import { defineJob, Leasehold, type RunContext } from "../../src/index.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { file, folder, ROOT, startProcess } from "../cli/support.ts";
import { leaseOf } from "../destinations/http/world.ts";
import { listening } from "../support/http.ts";
import { memoryGuard } from "../support/memory-guard.ts";
import { optional } from "../support/optional.ts";
import { signal } from "../support/signal.ts";
import { FRAMEWORKS } from "./frameworks.ts";
import { missingLibraries } from "./libraries.ts";

optional("the service of twenty lines in Express", missingLibraries(), () => {
  it("D2 D6 refuses a request that was on its way while its sender lost the job: 409 with both tokens", async () => {
    const { home, url } = await service();
    const leasehold = new Leasehold({ store: sqlite(join(home, "jobs.db")), log: () => {} });
    onTestFinished(() => leasehold.close());
    const [underWay, goOn] = [signal(), signal()];
    let late: Response | undefined;
    const slow = httpDestination({
      url,
      async fetch(to, init) {
        underWay.give();
        await goOn.given;
        // What is on its way cannot be called back: nobody there hears the sender's signal.
        const answer = await fetch(to, { ...init, signal: null });
        late = answer.clone();
        return answer;
      },
    });
    const quick = httpDestination({ url });
    let isTaken = false;
    const thrown: unknown[] = [];
    const charge = defineJob({
      name: "charge",
      async run({ input, lease }: RunContext<object>) {
        const to = isTaken ? quick : slow;
        const answer = await to.fetch(lease, "", post(input)).catch((error: unknown) => {
          thrown.push(error);
          throw error;
        });
        return { status: answer.status, body: await answer.json() };
      },
    });
    const { jobId } = await leasehold.enqueue(charge, { account: "42", cents: 1999 });
    const a = leasehold.work([charge]);
    await underWay.given;
    isTaken = true;
    await leasehold.revoke([jobId]);
    const b = leasehold.work([charge]);
    expect(await leasehold.result(jobId, { timeoutMs: 20_000 })).toEqual({
      status: 201,
      body: { receipt: 1 },
    });
    goOn.give();
    await Promise.all([a.stop(), b.stop()]);

    expect(thrown).toEqual([expect.any(StaleTokenError)]);
    expect(late?.status).toBe(409);
    expect(late?.headers.get("content-type")).toBe("application/problem+json");
    expect(await late?.json()).toMatchObject({
      type: "urn:leasehold:stale-token",
      token: { line: `job:${jobId}`, generation: 1 },
      mark: { generation: 3, owner: expect.any(String) },
      detail: expect.stringContaining("a write with generation 1 refused, the destination has seen 3"),
    });
  });

  it("D4 answers a repeat as the first, and refuses another body under the same key: 422", async () => {
    const { url } = await service();
    const sent: RequestInit[] = [];
    const to = httpDestination({
      url,
      fetch(url, init) {
        sent.push(init);
        return fetch(url, init);
      },
    });
    const first = await to.fetch(leaseOf(1), "", post({ account: "42", cents: 1999 }));
    const repeat = await to.fetch(leaseOf(2), "", post({ account: "42", cents: 1999 }));
    expect([first.status, repeat.status]).toEqual([201, 201]);
    expect([await first.text(), await repeat.text()]).toEqual(['{"receipt":1}', '{"receipt":1}']);

    const other = await fetch(url, { ...sent[1], body: JSON.stringify({ account: "42", cents: 1 }) });
    expect([other.status, other.headers.get("content-type")]).toEqual([422, "application/problem+json"]);
    expect(await other.json()).toMatchObject({
      type: "urn:leasehold:effect-mismatch",
      key: `${leaseOf(1).effectScope}/charge`,
    });
  });
});

// Not over SQLite, whose guard has no effect under way from one turn of the event loop to the next.
optional("an effect under way in Express", missingLibraries(), () => {
  it("D4 a repeat meanwhile is told when to ask again: 409 with Retry-After", async () => {
    const [underWay, goOn] = [signal(), signal()];
    const guarded = httpGuard({ guard: memoryGuard() });
    const express = FRAMEWORKS.find(({ name }) => name === "Express");
    const url = await listening(
      await express!.listener((request) =>
        guarded(request, async () => {
          underWay.give();
          await goOn.given;
          return Response.json({ receipt: 1 }, { status: 201 });
        }),
      ),
    );
    let sent: RequestInit | undefined;
    const to = httpDestination({
      url: `${url}/charges`,
      fetch(url, init) {
        sent = init;
        return fetch(url, init);
      },
    });
    const first = to.fetch(leaseOf(1), "", post({ account: "42", cents: 1999 }));
    await underWay.given;
    const repeat = await fetch(`${url}/charges`, sent);
    expect([repeat.status, repeat.headers.get("content-type")]).toEqual([409, "application/problem+json"]);
    expect(Number(repeat.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(await repeat.json()).toMatchObject({ type: "urn:leasehold:effect-running" });
    goOn.give();
    expect((await first).status).toBe(201);
  });
});

function post(body: unknown) {
  return { step: "charge", method: "POST", body: JSON.stringify(body) };
}

/** Started in a folder of its own, where it finds what its users would have installed. */
async function service(): Promise<{ readonly home: string; readonly url: string }> {
  const home = folder();
  copyFileSync(join(ROOT, "examples", "express-service", "service.js"), join(home, "service.mjs"));
  const installed = join(ROOT, "test", "integrations", "node_modules");
  for (const name of readdirSync(installed)) {
    if (!/^[.@]/.test(name)) symlinkSync(join(installed, name), join(home, "node_modules", name), "junction");
  }
  symlinkSync(
    join(ROOT, "node_modules", "@photostructure"),
    join(home, "node_modules", "@photostructure"),
    "junction",
  );
  const starter = file(
    home,
    "start.mjs",
    `import { server } from "./service.mjs";
     const tell = () => console.log("listening at", server.address().port);
     if (server.listening) tell(); else server.once("listening", tell);`,
  );
  const [, port] = await startProcess(starter, [], { cwd: home }).saw(/listening at (\d+)/);
  return { home, url: `http://localhost:${port}/charges` };
}
