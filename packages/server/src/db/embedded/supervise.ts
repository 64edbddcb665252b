/** Supervises the embedded PostgreSQL while its server runs: one that ended by itself, such as out of memory, is restarted. */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { pause } from '../../pause.ts'
import { type EmbeddedOptions, type EmbeddedPostgres, socketName, startEmbeddedPostgres } from './postgres.ts'

const pauseMsMin = 50
const pauseMsMax = 5_000
/** Between two looks for the socket. */
const lookMs = 5_000

export interface SupervisedPostgres {
  /** The same across restarts, so broken connections reconnect to it. */
  connectionString: string
  stop(): Promise<void>
}

/** Throws when the first start fails. Later starts are retried until they succeed; until then queries fail as without a database. */
export async function superviseEmbeddedPostgres(
  options: Omit<EmbeddedOptions, 'socketDir'>,
): Promise<SupervisedPostgres> {
  const { log } = options
  const stopping = new AbortController()
  let current = await startEmbeddedPostgres(options)
  const { connectionString, socketDir } = current

  async function startAgain(): Promise<EmbeddedPostgres | null> {
    const signal = stopping.signal
    for (let pauseMs = pauseMsMin; !signal.aborted; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      try {
        return await startEmbeddedPostgres({ ...options, socketDir, signal })
      } catch (error) {
        if (signal.aborted) return null
        log.error({ err: error, dataDir: options.dataDir }, 'failed to restart PostgreSQL; retrying')
        await pause(pauseMs, signal)
      }
    }
    return null
  }

  const keeping = (async () => {
    for (;;) {
      const end = await endOf(current, stopping.signal)
      if (stopping.signal.aborted) return
      if (end === 'unreachable')
        log.error({ socketDir }, 'the socket of PostgreSQL was removed, as by a cleanup of temporary files; restarting')
      else log.error({ dataDir: options.dataDir }, 'PostgreSQL ended unexpectedly; restarting')
      // It may run still: without its socket, or if only its supervising shell has died.
      await current.stop()
      const again = await startAgain()
      if (again === null) return
      current = again
      // Started while the server was stopping: nothing else has a reference to it.
      if (stopping.signal.aborted) return void (await current.stop())
      log.info({ dataDir: options.dataDir }, 'PostgreSQL restarted')
    }
  })()

  return {
    connectionString,
    async stop() {
      stopping.abort()
      await current.stop()
      await keeping
    },
  }
}

/** PostgreSQL makes its socket only at its start. Without it, connections stay and no new one gets in. */
async function endOf(
  { exited, socketDir }: EmbeddedPostgres,
  stopping: AbortSignal,
): Promise<'ended' | 'unreachable' | 'stopping'> {
  const over = new AbortController()
  const signal = AbortSignal.any([stopping, over.signal])
  const unreachable = async () => {
    while (!signal.aborted && (await exists(join(socketDir, socketName)))) await pause(lookMs, signal)
    return signal.aborted ? ('stopping' as const) : ('unreachable' as const)
  }
  try {
    return await Promise.race([exited.then(() => 'ended' as const), unreachable()])
  } finally {
    over.abort()
  }
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  )
