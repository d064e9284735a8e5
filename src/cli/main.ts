#!/usr/bin/env node
import { CommanderError } from "commander";
import { EXIT, errorText, exitCodeOf } from "./exit.ts";
import { endQuietlyWhenReaderGoes, flushed, words } from "./output.ts";
import { makeProgram } from "./program.ts";

endQuietlyWhenReaderGoes();

const program = makeProgram();
// Commander has its own exit codes; ours are 2 for wrong usage, and 0 for help and version.
const commands = [program];
for (const command of commands) {
  command.exitOverride();
  commands.push(...command.commands);
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage;
  } else {
    words(`leasehold: ${errorText(error)}`);
    process.exitCode = exitCodeOf(error);
  }
}
await flushed();
// A jobs module may have left connections or timers open; what the command had to do is done.
process.exit();
