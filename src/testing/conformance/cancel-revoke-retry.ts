import { cancelTests } from "./cancel.ts";
import { deleteAndPrune } from "./delete-and-prune.ts";
import { floorAndHeal } from "./floor-and-heal.ts";
import type { Chapter } from "./harness.ts";
import { revokeAndRetry } from "./revoke-and-retry.ts";

/** What an operator may do to a job (C13, C14, C18), and what lost history asks for (C19, the floor). */
export const cancelRevokeRetry: Chapter = {
  name: "cancel, revoke, retry",
  tests: [...cancelTests, ...revokeAndRetry, ...deleteAndPrune, ...floorAndHeal],
};
