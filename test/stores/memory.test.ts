import { describe, it } from "vitest";
import { storeConformance } from "../../src/testing/index.ts";
import { memoryHarness } from "../support/memory-harness.ts";

storeConformance({ describe, it }, "the memory store", memoryHarness);
