/**
 * Root may back up the data of a server that runs as another user. That server has to read and write the same files later,
 * so what root makes belongs to the owner of the folder that it is in.
 */
import { chown, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

export async function inheritOwner(path: string, from = dirname(path)): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(from)
  if (uid !== 0 || gid !== 0) await chown(path, uid, gid)
}

/** `first` is what `mkdir` returned for `folder`: the outermost folder that it made. Undefined: none. */
export async function inheritOwners(folder: string, first: string | undefined, from?: string): Promise<void> {
  if (first === undefined || process.getuid?.() !== 0) return
  if (folder !== first && folder !== dirname(folder)) await inheritOwners(dirname(folder), first, from)
  await inheritOwner(folder, from)
}
