import type { Chance } from "../../../simulation/chance.ts";
import type { Nemesis } from "../nemesis.ts";

/** Jobs whose inputs are as odd as JSON allows. */
export function payload(): Nemesis {
  return {
    name: "payload",
    async begin(controller, chance) {
      const request = controller.began("payload", "client");
      await controller.workload.enqueueOdd(oddValue(chance));
      controller.ended("payload", request, "client");
      await controller.lasts(200);
      return true;
    },
  };
}

function oddValue(chance: Chance): unknown {
  return chance.of<() => unknown>([
    () => null,
    () => "",
    () => "'; drop table leasehold.job; -- \" \\ \n\t\u0001\u2028",
    () => "\u{1f600}e\u0301\u202eabc\ufeff".repeat(chance.whole(1, 50)),
    () => "x".repeat(chance.whole(1_000, 200_000)),
    () => JSON.parse('{"__proto__": {"fails": 3}, "constructor": 1, "": [], "toJSON": "no"}'),
    () => [Number.MAX_SAFE_INTEGER, -Number.MAX_VALUE, 5e-324, 0.1 + 0.2, true, [[[[]]]]],
    () => Array.from({ length: chance.whole(1, 200) }).reduce((inner) => ({ inner }), {} as unknown),
    () => "$1 :name ? %s {schema} {input}",
  ])();
}
