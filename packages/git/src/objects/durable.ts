import { closeSync, fsync as fsyncThen, openSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Repository } from '../repository.ts'

/** A managed repository is the only copy, so it must survive a power cut. A mirror can be fetched again. */
export function durable(repo: Repository): [string, string][] {
  return repo.remote ? [] : [['core.fsync', 'objects,derived-metadata,reference']]
}

const fsync = promisify(fsyncThen)

/** Limits the number of open files. */
const atOnceMax = 16

/** Returns once files, and the entries of folders, are on the disk. Syncing them together saves waits. */
export async function syncPaths(paths: string[], { mayBeGone = false } = {}): Promise<void> {
  const sync = (path: string) =>
    syncPath(path).catch((error: NodeJS.ErrnoException) => {
      if (!mayBeGone || error.code !== 'ENOENT') throw error
    })
  for (let at = 0; at < paths.length; at += atOnceMax) await Promise.all(paths.slice(at, at + atOnceMax).map(sync))
}

/** Opens synchronously: a file that was just written opens at once, and a thread switch would cost more. */
async function syncPath(path: string): Promise<void> {
  const file = openSync(path, 'r')
  try {
    await fsync(file)
  } finally {
    closeSync(file)
  }
}
