/** Files for their owner alone, replaced atomically: a reader sees the old content or the new one. */
import { constants } from 'node:fs'
import { mkdir, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { alreadyRemoved, folderSyncUnsupported } from '../ignore.ts'

export async function replacePrivateFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${crypto.randomUUID()}.tmp`
  const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  try {
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(alreadyRemoved)
    throw error
  }
  const folder = await open(dirname(path), constants.O_RDONLY)
  // The rename survives a power failure only after its folder is synced.
  await folder.sync().catch(folderSyncUnsupported)
  await folder.close()
}
