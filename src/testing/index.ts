/** For the tests of stores and of programs that use Leasehold. */

export { type ManualWorld, manualWorld } from "../clock/manual.ts";
export { type MemoryOptions, memory } from "../stores/memory/index.ts";
export type { MemoryStore } from "../stores/memory/memory-store.ts";
export type { MemoryTransaction } from "../stores/memory/transaction.ts";
export type {
  CallersTransaction,
  Chapter,
  Competitor,
  ConformanceHarness,
  ConformanceTest,
  ConformanceWorld,
  TestWorld,
} from "./conformance/harness.ts";
export { conformanceChapters, storeConformance, type TestRunner } from "./conformance/suite.ts";
export { type Fault, type FaultPlan, type FaultyCall, faultStore } from "./fault-store.ts";
