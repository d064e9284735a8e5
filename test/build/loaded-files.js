// Writes the files that this process has loaded, one a line, to file descriptor 3 when it ends. To be given to `node --import`.

import { writeSync } from "node:fs";
import { Session } from "node:inspector";

const session = new Session();
session.connect();
/** @type {string[]} */
const loaded = [];
session.on("Debugger.scriptParsed", ({ params: { url } }) => {
  if (url.startsWith("file:") && url !== import.meta.url) loaded.push(url);
  if (url.startsWith("/")) loaded.push(`file://${url}`); // a CommonJS module has a path
});
session.post("Debugger.enable");
process.on("exit", () => writeSync(3, loaded.join("\n")));
