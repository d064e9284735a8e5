import { InvalidArgumentError } from "../../errors.ts";

/**
 * A statement with its values written into it, for a message of several statements, which takes no parameters. Each value
 * becomes a literal that reads the same whatever `standard_conforming_strings` says; the statement casts it.
 *
 * @param statement `$1`, `$2` … stand for `values`
 * @throws {InvalidArgumentError} a NUL, which no text of PostgreSQL can hold and which would end the message
 */
export function filled(statement: string, values: readonly (string | number | null)[]): string {
  return statement.replace(/\$(\d+)/g, (_, place: string) => literal(values[Number(place) - 1] ?? null));
}

function literal(value: string | number | null): string {
  if (value === null) return "null";
  const text = String(value);
  if (text.includes("\0")) throw new InvalidArgumentError("effect", text, "text without a NUL");
  return `E'${text.replace(/[\\']/g, "$&$&")}'`;
}
