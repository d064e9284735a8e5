import { describe, it } from "vitest";
import { storeConformance } from "../../src/testing/index.ts";
import { sqliteHarness } from "../support/sqlite-harness.ts";

storeConformance({ describe, it }, "the SQLite store", sqliteHarness);
