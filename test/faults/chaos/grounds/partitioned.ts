import { type Cut, cut, mend, type Way } from "../../../support/cuts.ts";
import { type Network, network } from "../../../support/networks.ts";
import type { OwnServer } from "../../../support/own-server.ts";
import type { PostgresVersion } from "../../../support/postgres-server.ts";
import { withHost } from "../crew.ts";
import type { Ground, MakeGround } from "../ground.ts";
import { partition } from "../nemeses/partition.ts";
import { WORKERS } from "../settings.ts";
import { onServer } from "./postgres-server.ts";
import { serverUnderFaults } from "./server-under-faults.ts";

export const PARTS = ["store", "destination", "listener"] as const;
export const WAYS: readonly Way[] = ["both", "requests", "replies"];

/** What a worker is cut off from: the server, the service with the other destinations, or only what wakes it up. */
export type Part = (typeof PARTS)[number];

/** The workers' networks, one each. */
export class Partitions {
  readonly #networks: readonly Network[];
  readonly #server: OwnServer;

  constructor(networks: readonly Network[], server: OwnServer) {
    this.#networks = networks;
    this.#server = server;
  }

  /** Resolves to undefined when there is nothing to cut. */
  async find(worker: number, part: Part, way: Way, destinationPort: number): Promise<Cut | undefined> {
    if (part === "destination") return { way, port: destinationPort };
    const { port } = this.#server;
    if (part === "store") return { way, port };
    const own = this.#networks[worker];
    const from = own && (await this.#listenerOf(own));
    return from === undefined ? undefined : { way, port, from };
  }

  async cut(worker: number, what: Cut): Promise<void> {
    const own = this.#networks[worker];
    if (own !== undefined) await cut(own, what);
  }

  async mend(worker: number): Promise<void> {
    const own = this.#networks[worker];
    if (own !== undefined) await mend(own);
  }

  /** The port of its connection, by which it is told apart from all others to the server. */
  async #listenerOf({ guest }: Network): Promise<number | undefined> {
    const [row] = await this.#server.query<{ client_port: number }>(
      "select client_port from pg_stat_activity where client_addr = $1 and application_name = 'leasehold listen'",
      [guest],
    );
    return row?.client_port;
  }
}

/** Each worker in a network of its own, joined with this machine, where the server and the destinations are. */
export function partitionedGround(version: PostgresVersion): MakeGround {
  return async () => {
    const networks: Network[] = [];
    for (let worker = 0; worker < WORKERS; worker++) networks.push(await network());
    const hosts = ["127.0.0.1", ...networks.map(({ host }) => host)];
    const server = await serverUnderFaults(version, { listen_addresses: hosts.join(",") });
    for (const { host } of networks) await server.trust(`${host}/30`);
    const partitions = new Partitions(networks, server);
    const ground: Ground = {
      ...onServer(server),
      description: `pg ${version}, each worker in a network of its own`,
      hosts,
      storeOf: (worker) => ({ kind: "postgres", url: withHost(server.url, networks[worker]?.host) }),
      homeOf: (worker) => ({ ...networks[worker] }),
      nemeses: [
        ...WAYS.map((way) => ({ nemesis: partition(partitions, "store", way), weight: 11 })),
        ...WAYS.map((way) => ({ nemesis: partition(partitions, "destination", way), weight: 10 })),
        { nemesis: partition(partitions, "listener", "both"), weight: 10 },
      ],
    };
    return ground;
  };
}
