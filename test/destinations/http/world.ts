import type { HttpLease } from "../../../src/destinations/http/index.ts";
import { generation, jobId, jobLine, leaseLine, owner } from "../../../src/protocol/identity.ts";

export const JOB = jobId("0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11");

/** The lease of one job's run, as generation `number` of its line. */
export function leaseOf(
  number: number,
  change: Partial<HttpLease> & { readonly name?: string } = {},
): HttpLease {
  const { name, ...rest } = change;
  return {
    token: {
      line: name === undefined ? jobLine(JOB) : leaseLine(name),
      generation: generation(number),
      owner: owner(`owner-${number}`),
    },
    effectScope: `job:${JOB}/1`,
    ...rest,
  };
}
