/** Handlers of errors that the client ignores on purpose. Each name and comment gives the reason. */

/** A temporary file or a stale lock: another process may have removed it first, and a leftover does no harm. */
export function alreadyRemoved(): void {}

/** The folder of the link holds other files, so it stays. */
export function folderNotEmpty(): void {}

/** Some file systems cannot sync a folder; the file itself is synced. */
export function folderSyncUnsupported(): void {}

/** Another client took the lock in the meantime and keeps it. */
export function lockTakenMeanwhile(): void {}

/** The error is reported where the promise is awaited; this only prevents an unhandled rejection until then. */
export function reportedWhenAwaited(): void {}

/** The login's temporary token expires within a minute, so a failure to revoke it does not fail the login. */
export function expiresSoon(): void {}
