// Sidequest finds a job's class by its name in a file.

import { Job } from "@sidequest/core";

export class Noop extends Job {
  /** Set by whoever works in this process. @type {(n: number) => void} */
  static onStart = () => {};

  run(input) {
    Noop.onStart(input.n);
  }
}
