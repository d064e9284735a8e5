/** Control codes but for tab and newline: a terminal obeys them, and names, inputs and errors are anybody's text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** `text` with each control code as `\x1b`, so that it can be seen and does nothing. */
export function printable(text: string): string {
  return text.replace(CONTROL, (code) => `\\x${code.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** A JSON text that says the same, without the codes that JSON lets stand. */
export function printableJson(json: string): string {
  return json.replace(CONTROL, (code) => `\\u${code.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
