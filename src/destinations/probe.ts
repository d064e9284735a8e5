import type { World } from "../clock/world.ts";
import { generation, type Line, type Owner } from "../protocol/identity.ts";
import type { EffectLease, Guard, ProbeResult } from "./destination.ts";
import { StaleTokenError } from "./refusals.ts";

/** D9: whether `guard` refuses a stale token on a line that nobody else has, which is forgotten afterwards. */
export async function probe<Tx>(
  guard: Pick<Guard<Tx>, "advance" | "write">,
  world: World,
  forget: (line: Line) => Promise<unknown>,
): Promise<ProbeResult> {
  const line = `probe:${world.ids.jobId()}` as Line;
  const lease = (number: number, owner: Owner): EffectLease => ({
    token: { line, generation: generation(number), owner },
    effectScope: null,
  });
  try {
    await guard.advance(lease(2, world.ids.owner()));
    await guard.write(lease(1, world.ids.owner()), {}, () => {});
    return { isProven: false, why: "A write with a token below the mark was admitted." };
  } catch (error) {
    if (error instanceof StaleTokenError) return { isProven: true };
    return { isProven: false, why: error instanceof Error ? error.message : String(error) };
  } finally {
    await forget(line).catch(() => {}); // one row that nobody reads
  }
}
