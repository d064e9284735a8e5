/** From Node's own requests to those of the Fetch API, for node:http and for the frameworks that stand on it. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { InvalidArgumentError } from "../../errors.ts";

export interface NodeHandlerOptions {
  /** Told of what `handler` threw, when there is no `next`: the sender gets a bare 500. Default: a process warning. */
  readonly onError?: (error: unknown) => void;
}

/**
 * A listener for `node:http`, and a handler for Express and its like: errors go to `next` where there is one. Its place is
 * before any parser of bodies, as the guard reads the body itself.
 *
 * @param handler such as `(request) => guarded(request, handle)`, or the `fetch` of an app
 */
export function nodeHandler(
  handler: (request: Request) => Promise<Response> | Response,
  { onError = (error) => process.emitWarning(error as Error) }: NodeHandlerOptions = {},
): (req: IncomingMessage, res: ServerResponse, next?: (error: unknown) => void) => Promise<void> {
  return async (req, res, next) => {
    try {
      await send(await handler(requestOf(req)), res);
    } catch (error) {
      if (next !== undefined) return next(error);
      onError(error);
      if (!res.headersSent) res.writeHead(500);
      res.end();
    }
  };
}

function requestOf(req: IncomingMessage): Request {
  if (req.readableDidRead) {
    throw new InvalidArgumentError(
      "request",
      "a body that was read before",
      "the guard its place in front of what parses bodies (express.json() and the like)",
    );
  }
  const headers = new Headers();
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    headers.append(req.rawHeaders[i] as string, req.rawHeaders[i + 1] as string);
  }
  const { method = "GET", url = "/", originalUrl = url } = req as IncomingMessage & { originalUrl?: string };
  const hasBody = method !== "GET" && method !== "HEAD";
  // Routers shorten `url`, and the path is part of the fingerprint. No host is: it may differ from one try to the next.
  return new Request(new URL(originalUrl.replace(/^\/+/, "/"), "http://localhost"), {
    method,
    headers,
    ...(hasBody && { body: Readable.toWeb(req) as ReadableStream<Uint8Array>, duplex: "half" }),
  } as RequestInit);
}

async function send(response: Response, res: ServerResponse): Promise<void> {
  res.statusCode = response.status;
  for (const name of new Set(response.headers.keys())) {
    res.setHeader(
      name,
      name === "set-cookie" ? response.headers.getSetCookie() : (response.headers.get(name) ?? ""),
    );
  }
  res.end(Buffer.from(await response.arrayBuffer()));
}
