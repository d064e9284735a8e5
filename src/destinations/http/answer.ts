/** A response as it is stored beside the mark, and given again to whoever repeats the request (D4). */

/** Each belongs to one connection, one moment or one caller, so no second response may have it. */
const NOT_STORED = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "set-cookie",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const WITHOUT_BODY = new Set([204, 205, 304]);

export interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** As text where that is the same bytes, so that a table of answers can be read; NUL is no text to a database. */
  readonly body: { readonly text: string } | { readonly base64: string };
}

export async function answerOf(response: Response): Promise<Answer> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString();
  return {
    status: response.status,
    headers: [...response.headers].filter(([name]) => !NOT_STORED.has(name)),
    body:
      Buffer.from(text).equals(bytes) && !text.includes("\0")
        ? { text }
        : { base64: bytes.toString("base64") },
  };
}

export function responseOf({ status, headers, body }: Answer): Response {
  const bytes = "text" in body ? Buffer.from(body.text) : Buffer.from(body.base64, "base64");
  return withBody(bytes, { status, headers: headers.map(([name, value]) => [name, value]) });
}

export function withBody(bytes: Uint8Array<ArrayBuffer>, init: ResponseInit & { status: number }): Response {
  return new Response(WITHOUT_BODY.has(init.status) ? null : bytes, init);
}
