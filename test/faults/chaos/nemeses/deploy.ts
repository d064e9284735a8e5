import { hung } from "../crew.ts";
import type { Nemesis } from "../nemesis.ts";

/** SIGTERM to all workers at once; each one is followed by the next as soon as it has ended. */
export function deploy(): Nemesis {
  return {
    name: "deploy",
    async begin(controller) {
      const request = controller.began("deploy", "all");
      // One that is paused hears of it when it goes on; one that was killed is started anew by whoever did it.
      const replaced = controller.members.map(async (member) => {
        if (!member.isRunning) return;
        const ended = await member.stop();
        if (!ended) controller.note("hung", hung(member));
        await member.start();
      });
      await Promise.all(replaced);
      controller.ended("deploy", request, "all");
      return true;
    },
  };
}
