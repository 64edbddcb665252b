/** Finds the embedded PostgreSQL of a server that runs. */
import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { diskFullCode, EmbeddedPostgresError } from './error.ts'

/**
 * The URL of a running server's PostgreSQL, from its data folder. Null when nothing responds, and in a copy of the
 * folder of a running server, whose `postmaster.pid` leads to the original.
 */
export async function runningDatabase(folder: string): Promise<string | null> {
  const text = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '')
  const [, servedFolder = '', , , socketDir] = text.split('\n')
  if (!socketDir || !(await isSame(folder, servedFolder))) return null
  const url = `postgresql://svc@localhost/postgres?host=${encodeURIComponent(socketDir)}`
  const client = new pg.Client({ connectionString: url })
  client.on('error', ignoreFailedDisconnect)
  try {
    await client.connect()
    return url
  } catch (error) {
    // PostgreSQL writes a file of caches for a new connection when it lacks one.
    if ((error as NodeJS.ErrnoException).code === diskFullCode) throw takesNoConnection(folder, error)
    // Nothing listens: the file is stale, or its server is starting or stopping.
    return null
  } finally {
    await client.end().catch(ignoreFailedDisconnect)
  }
}

function takesNoConnection(folder: string, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'disk-full',
    `The disk that holds ${folder} is full, so the database of the running server takes no new connection. Free some space and repeat the command; nothing was lost.`,
    cause,
  )
}

/** The connection failed or served its purpose, so an error on closing it does not matter. */
function ignoreFailedDisconnect(): void {}

async function isSame(folder: string, other: string): Promise<boolean> {
  const [real, otherReal] = await Promise.all([folder, other].map((path) => realpath(path).catch(() => null)))
  return real !== null && real === otherReal
}
