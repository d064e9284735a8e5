import { describe, expect, it } from "vitest";
import { UnknownOutcomeError } from "../../src/errors.ts";
import type { Owner } from "../../src/protocol/identity.ts";
import { type FaultPlan, type FaultyCall, faultStore, memory } from "../../src/testing/index.ts";
import { newHistoryJob } from "../support/histories.ts";
import { ID } from "../support/records.ts";

const OPTIONS = { timeoutMs: 1_000 };
const job = newHistoryJob(ID, "letters", null);
const request = { owner: "A" as Owner, queues: ["letters"], limit: 1, takeover: true };

describe("a fault store", () => {
  it("drops a request: nothing happens, and the caller cannot know", async () => {
    const sound = memory();
    const faulty = faultStore(sound, () => "drop request");
    await expect(faulty.enqueue([job], OPTIONS)).rejects.toThrow(UnknownOutcomeError);
    expect(await sound.get([ID])).toEqual([undefined]);
  });

  it("drops a reply: it has happened, and the caller cannot know", async () => {
    const sound = memory();
    const faulty = faultStore(sound, () => "drop reply");
    await expect(faulty.enqueue([job], OPTIONS)).rejects.toThrow(UnknownOutcomeError);
    expect((await sound.get([ID]))[0]?.state).toBe("ready");
  });

  it("lets a request arrive twice, and the second answer be heard", async () => {
    const faulty = faultStore(memory(), () => "duplicate");
    expect(await faulty.enqueue([job], OPTIONS)).toMatchObject([{ outcome: "repeated" }]);
  });

  it("holds a request until it is let go", async () => {
    const sound = memory();
    let arrive = (): void => {};
    const delayRequest = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const late = faultStore(sound, () => ({ delayRequest })).enqueue([job], OPTIONS);
    expect(await sound.get([ID])).toEqual([undefined]);
    arrive();
    expect(await late).toMatchObject([{ outcome: "enqueued" }]);
  });

  it("holds a reply until it is let go, while the store has done its work", async () => {
    const sound = memory();
    let heard = false;
    let arrive = (): void => {};
    const delayReply = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    await sound.enqueue([job], OPTIONS);
    const late = faultStore(sound, () => ({ delayReply }))
      .claim(request, OPTIONS)
      .then((claimed) => {
        heard = true;
        return claimed;
      });
    while ((await sound.get([ID]))[0]?.state !== "leased") await Promise.resolve();
    expect(heard).toBe(false);
    arrive();
    expect((await late).jobs).toHaveLength(1);
  });

  it("asks its plan once per call, with method, arguments and number", async () => {
    const calls: FaultyCall[] = [];
    const plan: FaultPlan = (call) => {
      calls.push(call);
      return "none";
    };
    const faulty = faultStore(memory(), plan);
    await faulty.enqueue([job], OPTIONS);
    await faulty.claim(request, OPTIONS);
    await faulty.claim(request, OPTIONS);
    expect(calls.map(({ method, number }) => `${method} ${number}`)).toEqual([
      "enqueue 1",
      "claim 1",
      "claim 2",
    ]);
    expect(calls[1]?.args).toEqual([request, OPTIONS]);
  });

  it("leaves wake-ups, closing and what is no call alone", async () => {
    const faulty = faultStore(memory(), () => "drop request");
    expect([faulty.description, faulty.renewalThread]).toEqual(["memory", undefined]);
    const listener = faulty.listen(() => {});
    listener.close();
    await faulty.close();
  });
});
