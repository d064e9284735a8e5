import type { Statements } from "./statements.ts";

/** The id of a queue, which is added when it is new. Not remembered: a transaction that adds one may be rolled back. */
export function queueId(statements: Statements, name: string): number {
  const found = statements.get<{ id: number }>("find queue", { name });
  if (found !== undefined) return found.id;
  statements.run("add queue", { name });
  return statements.get<{ id: number }>("find queue", { name })?.id as number;
}
