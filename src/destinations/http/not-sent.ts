/** What fails before there is a connection: looking up the name, and connecting. */
const BEFORE_SENDING = new Set(["connect", "getaddrinfo"]);

/**
 * Whether an error of `fetch` says that nothing was sent. False for all that is not known: most of what goes wrong with a
 * request may have happened after it arrived.
 */
export function wasNotSent(error: unknown): boolean {
  const { syscall, code, cause, errors } = Object(error) as Record<string, unknown>;
  // One host may have several addresses, each of which was tried.
  if (Array.isArray(errors)) return errors.length > 0 && errors.every(wasNotSent);
  if (BEFORE_SENDING.has(String(syscall)) || code === "UND_ERR_CONNECT_TIMEOUT") return true;
  return cause !== undefined && wasNotSent(cause);
}
