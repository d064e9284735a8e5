/**
 * Parameters by position. Both drivers look a name up for each value that they bind, by several string comparisons and
 * an access to the object by a text that they have just made: of the ten parameters of an insert, binding by name costs
 * more than all else that the statement does.
 */
export interface Positional {
  readonly text: string;
  /** Which parameter stands at which place. */
  readonly names: readonly string[];
}

/** Literals and comments are passed over: a colon in them is none of a parameter. */
const TOKEN = /'[^']*'|--[^\n]*|:([a-z_]+)/g;

/** `:name` becomes `?1`, the same number wherever the same name stands. */
export function positional(named: string): Positional {
  const names: string[] = [];
  const text = named.replace(TOKEN, (token, name: string | undefined) => {
    if (name === undefined) return token;
    if (!names.includes(name)) names.push(name);
    return `?${names.indexOf(name) + 1}`;
  });
  return { text, names };
}
