/** What a store warns of, once each: it goes on, but somebody ought to know. */

export interface Warning {
  readonly code: "LEASEHOLD_NO_NOTIFICATIONS" | "LEASEHOLD_NEWER_SCHEMA";
  readonly message: string;
}

export type Warn = (warning: Warning) => void;

/** As Node's own warnings: on stderr, and to whoever listens to `warning`. */
export const warnings: Warn = ({ code, message }) => process.emitWarning(message, { code });

/** For a renewal thread: the process that started it has been told. */
export const noWarnings: Warn = () => {};

export function noNotifications(store: string): Warning {
  return {
    code: "LEASEHOLD_NO_NOTIFICATIONS",
    message:
      `${store}: notifications do not arrive, so new jobs are found by polling alone. ` +
      "Behind a pooler, give `listen` the server's own address.",
  };
}

export function newerSchema(store: string, found: number, known: number): Warning {
  return {
    code: "LEASEHOLD_NEWER_SCHEMA",
    message:
      `${store}: a newer leasehold has brought its schema to ${found}; this one knows ${known}, and can still work ` +
      "with it. Install the newer one here as well.",
  };
}
