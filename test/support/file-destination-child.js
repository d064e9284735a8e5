// A writer that is killed or stopped before its nth call of the file system. Arguments: kill or stop, a path, n (kill) or
// the number of paths (stop).

import { once } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { file } from "../../dist/destinations/file/index.js";

const [, , mode, path = "", number = "0"] = process.argv;
let calls = 0;
let actAt = mode === "kill" ? Number(number) : 0;

/** @param {(() => Promise<unknown>) | undefined} half what a torn call has done */
async function reached(half) {
  calls += 1;
  if (calls !== actAt) return;
  if (mode === "kill") {
    await half?.();
    process.kill(process.pid, "SIGKILL");
    await new Promise(() => {});
  }
  const goOn = once(process, "message");
  process.send?.({ what: `stopped ${actAt}` });
  await goOn;
}

/** @type {any} */
const promises = fs.promises;
for (const name of [
  "mkdir",
  "link",
  "rename",
  "rm",
  "rmdir",
  "unlink",
  "readFile",
  "readdir",
  "stat",
  "open",
]) {
  const call = promises[name];
  promises[name] = async (/** @type {any[]} */ ...args) => {
    await reached(undefined);
    const result = await call(...args);
    if (name === "open") interrupt(result);
    return result;
  };
}
syncBuiltinESMExports();

/** @param {any} handle */
function interrupt(handle) {
  const { writeFile, sync } = handle;
  handle.writeFile = async (/** @type {string} */ content) => {
    await reached(() => writeFile.call(handle, content.slice(0, content.length / 2)));
    return writeFile.call(handle, content);
  };
  handle.sync = async () => {
    await reached(undefined);
    return sync.call(handle);
  };
}

/** @type {any} */
const lease = { token: { line: "lease:report", generation: 2, owner: "child" }, effectScope: null };

if (mode === "kill") {
  await file(path).write(lease, "by the child");
} else {
  for (actAt = 1; actAt <= Number(number); actAt += 1) {
    calls = 0;
    const outcome = await file(`${path}-${actAt}`)
      .write(lease, "by the child")
      .then(
        () => "written",
        (/** @type {any} */ error) => error.code ?? String(error),
      );
    process.send?.({ what: `ended ${actAt}`, detail: outcome });
  }
}
if (process.connected) process.disconnect();
