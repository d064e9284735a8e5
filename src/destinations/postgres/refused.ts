import { StoreUnusableError } from "../../errors.ts";
import { type FencingToken, generation, owner } from "../../protocol/identity.ts";
import { PrunedLineError, StaleTokenError } from "../refusals.ts";
import { serverError } from "./driver.ts";

/** The SQLSTATEs of `leasehold_admit`, of no class that the standard or PostgreSQL uses. */
const STALE = "LH001";
const PRUNED = "LH002";

/** What an error of `leasehold_admit` means; other errors stay what they are. */
export function refused(error: unknown, token: FencingToken): unknown {
  const { state, detail } = serverError(error) ?? {};
  if (state === STALE) {
    const mark = JSON.parse(String(detail)) as { generation: number; owner: string };
    return new StaleTokenError(token, { generation: generation(mark.generation), owner: owner(mark.owner) });
  }
  if (state === PRUNED) return new PrunedLineError(token.line);
  if (state !== undefined && /^(42501|42883|42P01|3F000)$/.test(state)) {
    return new StoreUnusableError(`The guard's functions or tables cannot be used (${messageOf(error)}).`, {
      next: "Call migrate() once with a role that may create them, and grant their use to this role.",
      cause: error,
    });
  }
  return error;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
