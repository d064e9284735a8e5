/**
 * @returns undefined when the body has more than `limit` bytes. The rest is then left unread, not cancelled: that would
 *   close the connection, and the sender could not be told.
 */
export async function boundedBody(
  request: Request,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array[] = [];
  const reader = request.body?.getReader();
  for (let length = 0; ; ) {
    const part = await reader?.read();
    if (part === undefined || part.done) return Buffer.concat(parts);
    length += part.value.length;
    if (length > limit) return undefined;
    parts.push(part.value);
  }
}
