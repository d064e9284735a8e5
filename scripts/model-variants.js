// Reads spec/variants.md: a heading for each text, and under it a table with a line for each variant.

/**
 * Exactly one of them.
 *
 * @typedef {object} Outcome
 * @property {number} [states] all of them were searched, and everything holds
 * @property {string} [breaks] the invariant's name
 * @property {string} [unfinished] why the search shows nothing
 */

/**
 * @typedef {object} Variant
 * @property {string} text a file in spec/
 * @property {string} name unique among all texts
 * @property {string[]} switches as `NAME=value`
 * @property {Outcome} expected
 * @property {string} shows
 * @property {boolean} long only searched with `--long`
 */

/**
 * @param {string} markdown
 * @returns {Variant[]}
 * @throws {Error} naming the line that cannot be read: a variant that is skipped would look like one that is as expected
 */
export function variantsOf(markdown) {
  /** @type {Variant[]} */
  const variants = [];
  let text = "";
  let long = false;
  for (const line of markdown.split("\n")) {
    const heading = /^## `(\S+\.pml)`(, long)?$/.exec(line);
    if (heading !== null) [text, long] = [heading[1] ?? "", heading[2] !== undefined];
    if (!line.startsWith("|") || /^\| (variant|---)/.test(line)) continue;
    const cells = line.split("|").map((cell) => cell.trim());
    const [, name = "", switches = "", expectation = "", shows = ""] = cells;
    const expected = expectedOf(expectation);
    if (cells.length !== 6 || text === "" || expected === undefined || name === "")
      throw new Error(`spec/variants.md: this line is no variant: ${line}`);
    if (variants.some((other) => other.name === name))
      throw new Error(`spec/variants.md: two are called ${name}`);
    const flags = [...switches.matchAll(/`(\w+=\w+)`/g)].map(([, flag = ""]) => flag);
    variants.push({ text, name, switches: flags, expected, shows, long });
  }
  return variants;
}

/**
 * @param {string} cell
 * @returns {Outcome | undefined}
 */
function expectedOf(cell) {
  const states = /^([\d,]+) states$/.exec(cell)?.[1];
  if (states !== undefined) return { states: Number(states.replaceAll(",", "")) };
  const breaks = /^breaks (\w+)$/.exec(cell)?.[1];
  return breaks === undefined ? undefined : { breaks };
}
