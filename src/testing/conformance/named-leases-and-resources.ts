import type { Chapter } from "./harness.ts";
import { namedLeases } from "./named-leases.ts";
import { resourceWaits } from "./resource-waits.ts";
import { resourceRuns } from "./resources.ts";

export const namedLeasesAndResources: Chapter = {
  name: "named leases and resources",
  tests: [...namedLeases, ...resourceRuns, ...resourceWaits],
};
