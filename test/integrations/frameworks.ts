/** The servers that `httpGuard` stands in, each as its users have it. Loaded by name, as in libraries.ts. */

import type { RequestListener } from "node:http";
import { nodeHandler } from "../../src/destinations/http/index.ts";
import { load } from "./libraries.ts";

/** What answers a request: the guard around a handler. */
export type Guarded = (request: Request) => Promise<Response>;

export interface Framework {
  readonly name: string;
  /** Its listener, with `guarded` at POST /charges and for OPTIONS there; elsewhere it parses JSON bodies itself. */
  listener(guarded: Guarded): Promise<RequestListener>;
}

export const FRAMEWORKS: readonly Framework[] = [
  { name: "node:http", listener: async (guarded) => nodeHandler(guarded) },
  {
    name: "Express",
    async listener(guarded) {
      const express = await load("express");
      const app = express();
      app.all("/charges", nodeHandler(guarded));
      app.use(express.json());
      return app;
    },
  },
  {
    name: "Fastify",
    async listener(guarded) {
      const { fastify } = await load("fastify");
      const app = fastify();
      const handler = nodeHandler(guarded);
      // biome-ignore lint/suspicious/noExplicitAny: the types are not there where the library is not installed
      app.register(async (scope: any) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("*", (_request: unknown, _body: unknown, done: () => void) => done());
        // biome-ignore lint/suspicious/noExplicitAny: as above
        scope.all("/charges", (request: any, reply: any) => {
          reply.hijack();
          return handler(request.raw, reply.raw);
        });
      });
      await app.ready();
      return app.routing;
    },
  },
  {
    name: "Hono",
    async listener(guarded) {
      const { Hono } = await load("hono");
      const app = new Hono();
      app.all("/charges", (context: { req: { raw: Request } }) => guarded(context.req.raw));
      return nodeHandler(app.fetch);
    },
  },
];
