import { InvalidArgumentError } from "../errors.ts";
import { type JobId, jobId, jobLine, type Line } from "../protocol/identity.ts";

/** The line that a job id, an answer of `enqueue`, or a line's own text stands for. */
export function lineOf(given: string | { readonly jobId: JobId }): Line {
  if (typeof given === "object") return jobLine(given.jobId);
  if (given.startsWith("lease:") && given.length > "lease:".length) return given as Line;
  if (given.startsWith("job:")) return jobLine(jobId(given.slice("job:".length)));
  if (given.startsWith("lease:"))
    throw new InvalidArgumentError("line", given, "the lease's name after `lease:`");
  return jobLine(jobId(given));
}
