/** `{ tx }` and `job.complete` with the libraries that applications have, on a real server. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresGuard } from "../../src/destinations/postgres/index.ts";
import { StaleLeaseError } from "../../src/errors.ts";
import { defineJob, InvalidTransactionError, Leasehold, UniqueConflictError } from "../../src/index.ts";
import type { Generation, Line, Owner } from "../../src/protocol/identity.ts";
import { executorOf } from "../../src/transactions/postgres.ts";
import { optional } from "../support/optional.ts";
import { type PostgresWorld, postgresWorld } from "../support/postgres-harness.ts";
import { missingPostgres } from "../support/postgres-server.ts";
import { type Connected, LIBRARIES, missingLibraries } from "./libraries.ts";

const job = defineJob({ name: "receipt", run: (_: { readonly input: unknown }) => {} });

optional("libraries on PostgreSQL 18", missingLibraries() ?? missingPostgres(18), () => {
  let world: PostgresWorld;
  let leasehold: Leasehold;

  beforeAll(async () => {
    world = await postgresWorld(18);
    leasehold = new Leasehold({ store: world.store });
  });
  afterAll(() => world.close());

  describe.each(LIBRARIES)("$name", ({ name, connect }) => {
    let library: Connected;
    const isThere = async (jobId: string): Promise<boolean> => (await leasehold.get(jobId)) !== undefined;

    beforeAll(async () => {
      library = await connect(world.url, world.schema);
    });
    afterAll(() => library.close());

    it("C1 the caller's rows and the jobs are there when its transaction commits, and not before", async () => {
      const ids: string[] = [];
      await library.transaction(async (tx, write) => {
        await write(`${name} commit`, "written");
        ids.push((await leasehold.enqueue(job, { order: "one's ?" }, { tx })).jobId);
        const many = await leasehold.enqueueMany(
          [
            { job, input: 2, delayMs: 60_000 },
            { job, input: null },
          ],
          { tx },
        );
        ids.push(...many.map(({ jobId }) => jobId));
        expect(await isThere(ids[0] as string)).toBe(false);
      });
      expect(await world.read(`${name} commit`)).toBe("written");
      const jobs = await leasehold.getMany(ids);
      expect(jobs.map((found) => found?.input)).toEqual([{ order: "one's ?" }, 2, null]);
    });

    it("C1 neither is there when it rolls back", async () => {
      let jobId = "";
      const rolledBack = library.transaction(async (tx, write) => {
        await write(`${name} rollback`, "written");
        ({ jobId } = await leasehold.enqueue(job, 1, { tx }));
        throw new Error("the card was declined");
      });
      await expect(rolledBack).rejects.toThrow("the card was declined");
      expect(await world.read(`${name} rollback`)).toBeUndefined();
      expect(jobId).not.toBe("");
      expect(await isThere(jobId)).toBe(false);
    });

    it("D1, D2 a guard's token is admitted or refused in it, with what the caller writes", async () => {
      const guard = postgresGuard({ connectionString: world.url, schema: world.schema });
      const line = `lease:${name}` as Line;
      const write = (generation: number) =>
        library.transaction(async (tx, write) => {
          await guard.admitIn(tx, {
            token: { line, generation: generation as Generation, owner: "a" as Owner },
            effectScope: null,
          });
          await write(`${name} ${generation}`, "written");
        });
      await write(2);
      const refusal = await write(1).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: "LH_STALE_TOKEN", mark: { generation: 2, owner: "a" } });
      expect(await world.read(`${name} 2`)).toBe("written");
      expect(await world.read(`${name} 1`)).toBeUndefined();
      await guard.close();
    });

    it("D4 a step that was made in it is answered in the next one", async () => {
      const guard = postgresGuard({ connectionString: world.url, schema: world.schema });
      const jobId = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11";
      const answers: unknown[] = [];
      const make = (generation: number) =>
        library.transaction(async (tx, write) => {
          const token = {
            line: `lease:${name} step` as Line,
            generation: generation as Generation,
            owner: "a" as Owner,
          };
          const step = await guard.admitIn(
            tx,
            { token, effectScope: `job:${jobId}/1` },
            { step: name, request: "one's ?" },
          );
          if (step.isFresh) await write(`${name} step ${generation}`, "written");
          answers.push(step.isFresh ? await step.keep({ by: generation }) : step.answer);
        });
      await make(1);
      await make(2);
      expect(answers).toEqual([{ by: 1 }, { by: 1 }]);
      expect(await world.read(`${name} step 2`)).toBeUndefined();
      await guard.close();
    });

    it("runs each kind of statement as it is written, and gives its rows in one shape", async () => {
      await library.transaction(async (tx) => {
        const run = executorOf(tx);
        const note = `${world.schema}.note`;
        const rows = [{ old_key: `${name} ?`, new_value: null }];
        const returning = "returning key as old_key, nullif(value, 'none') as new_value";
        expect(await run("select 1 as one_number", [])).toEqual([{ one_number: 1 }]);
        expect(
          await run(`insert into ${note} (value, key)\n-- $1 ?\nvalues ($2, $1) ${returning}`, [
            `${name} ?`,
            "none",
          ]),
        ).toEqual(rows);
        expect(await run(`update ${note} set key = $1 where key = $1 ${returning}`, [`${name} ?`])).toEqual(
          rows,
        );
        expect(
          await run(`delete from ${note} where key = $1 and value <> '?' ${returning}`, [`${name} ?`]),
        ).toEqual(rows);
        expect(await run(`delete from ${note} where key = $1::text`, [null])).toEqual([]);
      });
    });

    it("is refused without an open transaction, and nothing is written", async () => {
      const options = { jobId: "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11", tx: library.noTransaction };
      await expect(leasehold.enqueue(job, 1, options)).rejects.toThrow(InvalidTransactionError);
      expect(await isThere(options.jobId)).toBe(false);
    });

    it("C1, C17 repeats and unique keys are answered in it as they are outside", async () => {
      const unique = (onConflict: "throw" | "keep" | "replace") => ({ key: name, onConflict });
      const first = await leasehold.enqueue(job, "first", { unique: unique("throw") });
      await library.transaction(async (tx) => {
        const add = (input: string, more: object) => leasehold.enqueue(job, input, { ...more, tx });
        expect(await add("again", { jobId: first.jobId })).toMatchObject({
          outcome: "repeated",
          state: "ready",
        });
        expect(await add("kept", { unique: unique("keep") })).toMatchObject({
          outcome: "kept",
          jobId: first.jobId,
        });
        expect(await add("changed", { unique: unique("replace") })).toMatchObject({ outcome: "replaced" });
        await expect(add("thrown", { unique: unique("throw") })).rejects.toThrow(UniqueConflictError);
      });
      expect((await leasehold.get(first.jobId))?.input).toBe("changed");
    });

    it("C10 its builder writes through the tx of job.complete, with the completion or not at all", async () => {
      const insert = library.insert ?? plainInsert;
      const write = async (queue: string, reclaimed: boolean): Promise<unknown> => {
        let refused: unknown;
        let runs = 0;
        const writing = defineJob({
          name: "writing",
          queue,
          async run({ job }) {
            runs += 1;
            if (runs > 1) return;
            if (reclaimed) await leasehold.revoke([job.id]);
            const { text, params } = insert(queue, "by complete");
            await job
              .complete(async (tx) => void (await tx.query(text, params)))
              .catch((error) => {
                refused = error;
                throw error;
              });
          },
        });
        await leasehold.enqueue(writing);
        await leasehold.drain([writing], { renewer: "inline" });
        return refused;
      };
      expect(await write(`${name} current`, false)).toBeUndefined();
      expect(await world.read(`${name} current`)).toBe("by complete");
      expect(await write(`${name} stale`, true)).toBeInstanceOf(StaleLeaseError);
      expect(await world.read(`${name} stale`)).toBeUndefined();
    });

    const plainInsert = (key: string, value: string) => ({
      text: `insert into ${world.schema}.note values ($1, $2)`,
      params: [key, value],
    });
  });
});
