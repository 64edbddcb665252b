/** Asks the server that holds a data folder, by its socket there, which database it uses. */
import { open } from 'node:fs/promises'
import { type DatabaseInfo, ownerSocketName, type ServerInfo, serverInfoPath } from '@svc/contract/daemon/owner-socket'

const answerMs = 5_000

/** Null: no server answers there, or one of an earlier version. */
export async function databaseOfHolder(dataDir: string): Promise<DatabaseInfo | null> {
  const folder = await open(dataDir, 'r')
  try {
    // The kernel limits a socket path to 107 bytes; by file descriptor a deep folder has a short path.
    const unix = `/proc/self/fd/${folder.fd}/${ownerSocketName}`
    const answer = await fetch(`http://localhost${serverInfoPath}`, { unix, signal: AbortSignal.timeout(answerMs) })
    return answer.ok ? (((await answer.json()) as ServerInfo).database ?? null) : null
  } catch {
    return noAnswer()
  } finally {
    await folder.close()
  }
}

/** The lock of the folder says whether a server has it. */
function noAnswer(): null {
  return null
}
