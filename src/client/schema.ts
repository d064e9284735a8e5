import type { StandardSchemaV1 } from "@standard-schema/spec";
import { SchemaMismatchError } from "../errors.ts";

/**
 * What the schema makes of `value`; a promise only when the schema answers with one, so that the common case stays in
 * its turn.
 *
 * @throws {SchemaMismatchError} listing each issue with its path
 */
export function parsed(
  schema: StandardSchemaV1 | undefined,
  value: unknown,
  jobName: string,
  what: "input" | "result",
): unknown {
  if (schema === undefined) return value;
  const answer = schema["~standard"].validate(value);
  return answer instanceof Promise
    ? answer.then((late) => accepted(late, jobName, what))
    : accepted(answer, jobName, what);
}

function accepted(
  answer: StandardSchemaV1.Result<unknown>,
  jobName: string,
  what: "input" | "result",
): unknown {
  if (!answer.issues) return answer.value;
  const issues = answer.issues.map(({ message, path = [] }) => ({
    path: [what, ...path.map((segment) => String(typeof segment === "object" ? segment.key : segment))].join(
      ".",
    ),
    message,
  }));
  throw new SchemaMismatchError(jobName, what, issues);
}
