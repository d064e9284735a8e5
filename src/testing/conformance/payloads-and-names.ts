import assert from "node:assert/strict";
import type { Owner } from "../../protocol/identity.ts";
import {
  assertHas,
  claim,
  claimOne,
  complete,
  enqueued,
  enqueuedMany,
  fail,
  fenceOf,
  journalOf,
  LEASE_MS,
  leased,
  newJob,
  newOwner,
  OPTIONS,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

/** Legal texts that have broken other stores. */
const ODD: Readonly<Record<string, string>> = {
  quotes: `'"\`\\ "" '' \\\\ \\'`,
  "fragments of SQL": "'); drop table job; -- /* $1 ? :now @x %s */",
  newlines: "a\nb\r\nc\u2028d\u2029e\tf",
  "control characters": "\u0001\u0007\u001b[31m\u007f\u0085",
  emoji: "👩‍👩‍👧‍👦 🏳️‍🌈 𝕏",
  "marks for right to left": "\u202eabc\u202c \u200fשלום\u200e \u2066x\u2069",
  "the last of the plane": "\uffff\ufffe\u{10ffff}",
  "combining accents": "e\u0301 is not \u00e9",
  "a byte order mark": "\ufeffstart",
  "an object's own names": "__proto__ constructor toString hasOwnProperty",
  "patterns of LIKE and GLOB": "%_*?[a-z]^{}",
  blanks: "  \u00a0\u3000  ",
  "what looks like a number": "0123e45",
  "what looks like JSON": '{"a":[1,null]}',
};

const LONGEST = "n".repeat(255);
const LONGEST_IN_EMOJI = "🦊".repeat(63);

export const payloadsAndNames: Chapter = {
  name: "payloads and names",
  tests: [
    ...Object.entries(ODD).map(([what, text]) =>
      test(`${what} come back exactly, wherever they stand`, async (world) => {
        const json = JSON.stringify({ [text]: text });
        const job = newJob({
          name: text,
          queue: text,
          resource: text,
          unique: { key: text, onConflict: "keep" },
          input: json,
        });
        await world.store.enqueue([job], OPTIONS);
        const owner = text as Owner;
        const claimed = await claimOne(world, owner, { queues: [text] });
        assertHas(claimed.job, {
          name: text,
          queue: text,
          resource: text,
          uniqueKey: text,
          input: json,
          owner,
        });
        assert.equal(claimed.token.line, `lease:${text}`);
        const fence = fenceOf(claimed);
        const written = await world.store.write(
          [
            { fence, progress: json },
            { fence, log: text },
          ],
          OPTIONS,
        );
        assert.ok(written.every(({ outcome }) => outcome === "applied"));
        await settled(world, fail(fence, 0, json));
        assertHas(await row(world, job.jobId), { error: json, progress: json });
        assert.ok(
          (await journalOf(world, job.jobId)).some(({ kind, message }) => kind === "log" && message === text),
        );
        await settled(world, complete(fenceOf(await claimOne(world, owner, { queues: [text] })), json));
        const [listed] = (
          await world.store.list({ queue: text, name: text, resource: text }, { limit: 9 }, OPTIONS)
        ).jobs;
        assertHas(listed, { jobId: job.jobId, result: json });
        assert.deepEqual(
          (await world.store.counts(OPTIONS)).map(({ queue, completed }) => [queue, completed]),
          [[text, 1]],
        );
      }),
    ),

    test("odd texts name leases, and do not meet each other", async (world) => {
      for (const text of Object.values(ODD)) {
        const owner = newOwner();
        const answer = await world.store.acquire({ name: text, owner, leaseMs: LEASE_MS }, OPTIONS);
        assertHas(answer, { outcome: "applied", token: { line: `lease:${text}`, generation: 1, owner } });
      }
      for (const text of Object.values(ODD))
        assert.equal((await world.store.getLease(text, OPTIONS))?.name, text);
    }),

    test("names of 255 bytes are kept whole", async (world) => {
      for (const name of [LONGEST, LONGEST_IN_EMOJI]) {
        const unique = { key: name, onConflict: "keep" } as const;
        const fence = await leased(world, { name, queue: name, resource: name, unique }, name as Owner);
        assertHas(await row(world, fence.jobId), {
          name,
          queue: name,
          resource: name,
          uniqueKey: name,
          owner: name,
        });
        await settled(world, complete(fence));
      }
    }),

    test("names that differ in case, in blanks at the end, or in their last byte are different", async (world) => {
      const names = [
        "queue",
        "Queue",
        "queue ",
        "queue\u0001",
        `${LONGEST.slice(1)}a`,
        `${LONGEST.slice(1)}b`,
      ];
      for (const queue of names) await enqueued(world, { queue });
      for (const queue of names)
        assert.equal((await claimOne(world, newOwner(), { queues: [queue] })).job.queue, queue);
    }),

    test("a queue named like an object's own member is a queue like any other", async (world) => {
      const queues = ["__proto__", "constructor", "toString"];
      for (const queue of queues) await enqueued(world, { queue });
      const counts = await world.store.counts(OPTIONS);
      assert.deepEqual(
        counts.map(({ queue, ready }) => [queue, ready]).toSorted(),
        queues.map((queue) => [queue, 1]).toSorted(),
      );
      assert.equal((await claim(world, newOwner(), { queues })).jobs.length, 3);
    }),

    test("falsy inputs and results arrive as they are", async (world) => {
      const texts = ["0", "false", "null", '""', "[]", "{}"];
      const ids = await enqueuedMany(
        world,
        texts.map((input) => ({ input })),
      );
      const { jobs } = await claim(world, newOwner());
      assert.deepEqual(
        jobs.map(({ job }) => job.input),
        texts,
      );
      await world.store.settle(
        jobs.map((job, n) => complete(fenceOf(job), texts[n] ?? null)),
        OPTIONS,
      );
      const ended = await world.store.get(ids, OPTIONS);
      assert.deepEqual(
        ended.map((job) => job?.result),
        texts,
      );
    }),

    test("a result that is missing is told apart from one that is null", async (world) => {
      const [a, b] = [await leased(world), await leased(world)];
      await world.store.settle([complete(a, null), complete(b, "null")], OPTIONS);
      assert.deepEqual(
        [(await row(world, a.jobId)).result, (await row(world, b.jobId)).result],
        [null, "null"],
      );
    }),

    test("an input, a result and an error of 1 MiB come back exactly", async (world) => {
      const text = JSON.stringify("é🦊x".repeat(150_000)).slice(0, 700_000);
      const json = JSON.stringify(text.padEnd(1_000_000, "y"));
      const jobId = await enqueued(world, { input: json });
      const first = await claimOne(world, newOwner());
      assert.equal(first.job.input, json);
      await settled(world, fail(fenceOf(first), 0, json));
      assert.equal((await row(world, jobId)).error, json);
      await settled(world, complete(fenceOf(await claimOne(world, newOwner())), json));
      assertHas(await row(world, jobId), { input: json, result: json });
    }),

    test("a large input among small ones in one batch stays with its job", async (world) => {
      const large = JSON.stringify("z".repeat(200_000));
      const inputs = ['"a"', large, '"b"'];
      await enqueuedMany(
        world,
        inputs.map((input) => ({ input })),
      );
      const { jobs } = await claim(world, newOwner());
      assert.deepEqual(
        jobs.map(({ job }) => job.input),
        inputs,
      );
    }),

    test("deep JSON, long numbers and repeated names come back byte for byte", async (world) => {
      const inputs = [
        `${"[".repeat(500)}1${"]".repeat(500)}`,
        '{"n":[1.0,1e2,-0,12345678901234567890,0.1e-7]}',
        '{"b":1,"a":2,"b":3}',
        '{"__proto__":{"admin":true},"constructor":1}',
        ' { "spaced" : "\\u00e9\\/" } ',
      ];
      await enqueuedMany(
        world,
        inputs.map((input) => ({ input })),
      );
      const { jobs } = await claim(world, newOwner());
      assert.deepEqual(
        jobs.map(({ job }) => job.input),
        inputs,
      );
    }),
  ],
};
