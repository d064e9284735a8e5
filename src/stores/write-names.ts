import type { RunWrite } from "./store.ts";

/** What the journal calls a write that it notes as refused. */
export function operationOf(write: RunWrite): "progress" | "log" | "step" {
  if ("step" in write) return "step";
  return "progress" in write ? "progress" : "log";
}
