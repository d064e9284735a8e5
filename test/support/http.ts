/** HTTP servers of a test's own, on a free port, closed with their connections when the test ends. */

import { createServer, request as forward, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** @returns its address, such as `http://127.0.0.1:41327` */
export async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A proxy that passes on all but one header, as those with a list of allowed headers do. */
export function proxyWithout(header: string, target: string): Promise<string> {
  return listening((req, res) => {
    const { [header.toLowerCase()]: _, ...headers } = req.headers;
    const onward = forward(new URL(req.url ?? "/", target), { method: req.method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    req.pipe(onward);
  });
}
