/** For the tests of stores and of programs that use Leasehold. */

export { type ManualWorld, manualWorld } from "../clock/manual.ts";
export { memory, type MemoryOptions } from "../stores/memory/index.ts";
export { type Fault, type FaultPlan, faultStore, type FaultyCall } from "./fault-store.ts";
export {
  type CallersTransaction,
  type Chapter,
  type Competitor,
  type ConformanceHarness,
  type ConformanceTest,
  type ConformanceWorld,
  type TestWorld,
} from "./conformance/harness.ts";
export { conformanceChapters, storeConformance, type TestRunner } from "./conformance/suite.ts";
