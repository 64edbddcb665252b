/** Ends a server whose data folder is not at its path any more: a disk was mounted over it, or it was moved or removed. */
import type { Logger } from 'pino'
import { endProcess } from '../fleet/own-name.ts'
import type { FolderLock } from './folder-lock.ts'
import { StartupError } from './startup-error.ts'

const lookMs = 1_000

export interface WatchedFolder {
  folderId: string
  /** Ends the process if the folder is gone: before a stop writes into what is there now. */
  look(): void
  release(): void
}

/**
 * The process ends at once, since whatever it writes would get into the data of another server. Its PostgreSQL notices
 * by itself and writes nothing either (`db/embedded/child.ts`). Sandboxes go on.
 */
export function watchFolder(folder: FolderLock, { dataDir, log }: { dataDir: string; log: Logger }): WatchedFolder {
  const end = endProcess(log)
  const look = () => {
    const reason = folder.whyGone()
    if (reason === null) return
    end(
      new StartupError(
        `The data folder ${dataDir} of this server is gone: ${reason}. The server ends at once and writes nothing more. Bring its folder back, and start again.`,
      ),
    )
  }
  const timer = setInterval(look, lookMs).unref()
  return {
    folderId: folder.folderId,
    look,
    release() {
      clearInterval(timer)
      folder.release()
    },
  }
}
