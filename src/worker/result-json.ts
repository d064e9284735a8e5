import type { JobDefinition } from "../client/define-job.ts";
import { parsed } from "../client/schema.ts";
import { storableJson } from "../protocol/storable.ts";

/**
 * JSON text of what a handler returned; null for nothing. A promise only when the schema answers with one.
 *
 * @throws when it does not fit its schema or JSON
 */
export function resultJson(
  { result: schema, name }: JobDefinition,
  returned: unknown,
  maxBytes: number,
): string | null | Promise<string | null> {
  if (schema === undefined) return resultText(returned, maxBytes);
  const value = parsed(schema, returned, name, "result");
  return value instanceof Promise
    ? value.then((late) => resultText(late, maxBytes))
    : resultText(value, maxBytes);
}

function resultText(value: unknown, maxBytes: number): string | null {
  return value === undefined ? null : storableJson(value, "result", maxBytes);
}
