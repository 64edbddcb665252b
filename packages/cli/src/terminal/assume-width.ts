import type { Writable } from 'node:stream'

/** Serial consoles, and terminals that `script` or `expect` open, say that they have 0 columns. */
export function assumeWidth(stream: Writable & { isTTY?: boolean; columns?: number }): void {
  if (stream.isTTY === true && stream.columns === 0) stream.columns = 80
}
