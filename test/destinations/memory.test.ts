import { describe, it } from "vitest";
import { destinationConformance } from "../../src/testing/index.ts";
import { ImpatientDestination, memoryDestinationHarness } from "../support/memory-destination.ts";

destinationConformance({ describe, it }, "the destination in memory", memoryDestinationHarness());
destinationConformance(
  { describe, it },
  "the destination in memory that lets nobody wait",
  memoryDestinationHarness(() => new ImpatientDestination()),
);
