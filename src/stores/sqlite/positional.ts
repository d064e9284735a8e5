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

const ONE_ROW = /^(.*\bvalues )(\(.*\))(\n +on conflict.*)$/s;

/** An insert of one row made one of `times` rows: what they share comes first, then `each` of the first row, and so on. */
export function ofRows(named: string, each: readonly string[], times: number): Positional {
  const [, head = "", row = "", tail = ""] = ONE_ROW.exec(named) ?? [];
  const names = positional(row).names.filter((name) => !each.includes(name));
  const placeOf = (name: string, n: number): number =>
    each.includes(name) ? names.length + n * each.length + each.indexOf(name) : names.indexOf(name);
  const rows = Array.from({ length: times }, (_, n) =>
    row.replace(TOKEN, (token, name: string | undefined) =>
      name === undefined ? token : `?${placeOf(name, n) + 1}`,
    ),
  );
  return { text: head + rows.join(",\n       ") + tail, names };
}
