/** What one line of a batch says: which job, with which input and options. Nothing of it has been written yet. */

import type { JobDefinition } from "../../client/define-job.ts";
import { JOB_OPTIONS, type JobOptions, newJob } from "../../client/new-job.ts";
import type { World } from "../../clock/world.ts";
import { LeaseholdError } from "../../errors.ts";
import { DEFAULT_MAX_INPUT_BYTES } from "../../protocol/storable.ts";
import { type Jobs, jobNames } from "../jobs-module.ts";
import type { Line } from "./lines.ts";

export interface Entry {
  readonly job: JobDefinition;
  readonly input: unknown;
  readonly options: JobOptions;
}

export interface EntryReader {
  /** @throws {BadLine} the line is no job of this batch */
  read(line: Line): Entry;
  /** @throws {BadLine} `enqueue` would not take it: its options, its size, its job's schema */
  check(entry: Entry): Promise<void>;
}

export class BadLine extends Error {}

/** The options of `enqueue` that a line may carry; `jobId` is derived. */
const OPTIONS = new Set([...JOB_OPTIONS].filter((name) => name !== "jobId"));

/** With `jobName` a line is the input alone; without, it is `{"job", "input", …options}`. */
export function entryReader(jobs: Jobs, jobName: string | undefined, world: World): EntryReader {
  return {
    read(line) {
      const value = parsed(line.text);
      return jobName === undefined ? fromObject(value, jobs) : { ...named(jobName, jobs), input: value };
    },

    async check({ job, input, options }) {
      try {
        await newJob(job, input, options, world, DEFAULT_MAX_INPUT_BYTES);
      } catch (error) {
        if (error instanceof LeaseholdError) throw new BadLine(error.message.replace(/\.$/, ""));
        throw new BadLine(
          `the job's own code failed on it: ${error instanceof Error ? error.message : error}`,
        );
      }
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BadLine(`it is not JSON: ${(error as Error).message}`);
  }
}

function fromObject(value: unknown, jobs: Jobs): Entry {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new BadLine('it is not an object {"job", "input"}; with --job NAME a line is the input alone');
  }
  const { job: name, input, ...rest } = value as Record<string, unknown>;
  if (typeof name !== "string")
    throw new BadLine('"job" is missing; give the name of a job, or use --job NAME');
  if (!("input" in value)) throw new BadLine('"input" is missing; give null for a job that needs none');
  for (const option of Object.keys(rest)) {
    if (option === "jobId") throw new BadLine('"jobId" cannot be given: a batch derives the ids of its jobs');
    if (!OPTIONS.has(option)) {
      throw new BadLine(`unknown option ${JSON.stringify(option)}; there are ${[...OPTIONS].join(", ")}`);
    }
  }
  const runAt = rest["runAt"];
  const options = typeof runAt === "string" ? { ...rest, runAt: new Date(runAt) } : rest;
  return { ...named(name, jobs), input, options: options as JobOptions };
}

function named(name: string, jobs: Jobs): { readonly job: JobDefinition; readonly options: JobOptions } {
  const job = jobs.get(name);
  if (job === undefined)
    throw new BadLine(`there is no job ${JSON.stringify(name)}; there are ${jobNames(jobs)}`);
  return { job, options: {} };
}
