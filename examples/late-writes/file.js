// node examples/late-writes/file.js: the late write would replace a file.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { file } from "leasehold/destinations/file";
import { tell } from "./story.js";

await tell({
  async open({ folder }) {
    const path = join(folder, "note.txt");
    const note = file(path);
    return {
      write: (lease, by) => note.write(lease, `written by ${by}`),
      read: () => readFile(path, "utf8"),
      close() {},
    };
  },
});
