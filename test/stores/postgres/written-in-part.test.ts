import { describe, expect, it } from "vitest";
import { UnknownOutcomeError } from "../../../src/errors.ts";
import type { Settlement } from "../../../src/protocol/settle.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { CALL, claimAll, ids, newJob, storeOn, worldOf } from "./world.ts";

/** Shorter than the lock is held. */
const SHORT = { timeoutMs: 300 };

optional("calls to PostgreSQL 18 of several statements", missingPostgres(18), () => {
  describe("of which an earlier one has committed and a later one waits for a lock for too long", () => {
    const lockedJournal = async () => {
      const world = await worldOf(18);
      const session = await world.begin();
      const lock = () =>
        (session.tx as { query(text: string): Promise<unknown> }).query(
          `lock table ${world.schema}.journal in exclusive mode`,
        );
      return { ...world, lock, unlock: session.rollback };
    };

    it("C11 settlings say that their outcome is unknown, not that nothing was written", async () => {
      const { store, lock, unlock } = await lockedJournal();
      await store.enqueue([newJob(), newJob()], CALL);
      const [completed, failed] = await claimAll(store, ids.owner());
      const both: Settlement[] = [
        { operation: "complete", fence: completed!, result: null },
        { operation: "fail", fence: failed!, error: "{}", retryInMs: 0 },
      ];
      await lock(); // only the failure writes a line there
      await expect(store.settle(both, SHORT)).rejects.toThrow(UnknownOutcomeError);
      expect((await store.get([completed!.jobId], CALL))[0]).toMatchObject({ state: "completed" });
      await unlock();
      expect(await store.settle(both, CALL)).toMatchObject([{ outcome: "already" }, { outcome: "applied" }]);
    });
  });

  it("C11 say that their outcome is unknown when the store is closed behind the first of them", async () => {
    const world = await worldOf(18);
    let closing: Promise<void> | undefined;
    const store = storeOn(world, {
      trace: (name) => {
        if (name === "complete plain") closing = store.close();
      },
    });
    await store.enqueue([newJob(), newJob()], CALL);
    const [completed, failed] = await claimAll(store, ids.owner());
    const both: Settlement[] = [
      { operation: "complete", fence: completed!, result: null },
      { operation: "fail", fence: failed!, error: "{}", retryInMs: 0 },
    ];
    await expect(store.settle(both, CALL)).rejects.toThrow(UnknownOutcomeError);
    await closing;
    expect((await world.store.get([completed!.jobId], CALL))[0]).toMatchObject({ state: "completed" });
  });
});
