/** Failures that a test or benchmark may ignore, by their reason. */

/** Both sides may close a connection, and the second close fails. */
export function ignoreClosed(): void {}

/** A process may end before it is signaled or read. */
export function ignoreEnded(): void {}
