/** For the tests of stores and of programs that use Leasehold. */

export { type ManualWorld, manualWorld } from "../clock/manual.ts";
export { type MemoryOptions, memory } from "../stores/memory/index.ts";
export type { MemoryStore } from "../stores/memory/memory-store.ts";
export type { MemoryTransaction } from "../stores/memory/transaction.ts";
export type { Gap, TestRunner } from "./chapters.ts";
export type {
  CallersTransaction,
  Chapter,
  Competitor,
  ConformanceHarness,
  ConformanceTest,
  ConformanceWorld,
  TestWorld,
} from "./conformance/harness.ts";
export { conformanceChapters, storeConformance } from "./conformance/suite.ts";
export type {
  Claim,
  DestinationChapter,
  DestinationHarness,
  DestinationTest,
  DestinationTestWorld,
  DestinationWorld,
  EffectAnswer,
  EffectRequest,
  EffectWriter,
  HeldWrite,
} from "./destination-conformance/harness.ts";
export { destinationChapters, destinationConformance } from "./destination-conformance/suite.ts";
export { type Fault, type FaultPlan, type FaultyCall, faultStore } from "./fault-store.ts";
export {
  type LosableReply,
  Rehearsal,
  type RehearsalOptions,
  type Rehearsed,
} from "./rehearsal.ts";
