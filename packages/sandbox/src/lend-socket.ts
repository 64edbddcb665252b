import { chmodSync, chownSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Lets the sandbox's root connect to a socket of the server. In a folder that other users cannot enter, the socket is
 * opened to everyone, so that several sandboxes can share it.
 */
export function lendSocket(path: string, owner: number): void {
  if ((statSync(dirname(path)).mode & 0o007) === 0) chmodSync(path, 0o666)
  else if (process.getuid?.() === 0) chownSync(path, owner, owner)
}
