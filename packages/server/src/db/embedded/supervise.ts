/** Supervises the embedded PostgreSQL while its server runs: one that ended by itself, such as out of memory, is restarted. */
import { pause } from '../../pause.ts'
import { type EmbeddedOptions, type EmbeddedPostgres, startEmbeddedPostgres } from './postgres.ts'

const pauseMsMin = 50
const pauseMsMax = 5_000

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
      await current.exited
      if (stopping.signal.aborted) return
      log.error({ dataDir: options.dataDir }, 'PostgreSQL ended unexpectedly; restarting')
      // If only its supervising shell has died, PostgreSQL still runs and nothing would end it.
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
