/** The PostgreSQL that comes along, for as long as its server lives: one that ended unasked (the kernel was out of memory) is started again. */
import { setTimeout as delay } from 'node:timers/promises'
import { type EmbeddedOptions, type EmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts'

const pauseMsMin = 50
const pauseMsMax = 5_000

export interface KeptPostgres {
  /** The same before and after: connections that broke are made anew by it. */
  connectionString: string
  stop(): Promise<void>
}

/** Throws what the first start throws. Later ones are tried for ever: until then every question is refused as it is while a database is away. */
export async function keepEmbeddedPostgres(options: Omit<EmbeddedOptions, 'socketDir'>): Promise<KeptPostgres> {
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
        log.error({ err: error, dataDir: options.dataDir }, 'PostgreSQL could not be started again; it is tried again')
        await delay(pauseMs, undefined, { signal }).catch(() => {})
      }
    }
    return null
  }

  const keeping = (async () => {
    for (;;) {
      await current.exited
      if (stopping.signal.aborted) return
      log.error({ dataDir: options.dataDir }, 'PostgreSQL ended by itself; it is started again')
      // Had only its keeper ended, it would be at work still, and nobody there to end it.
      await current.stop()
      const again = await startAgain()
      if (again === null) return
      current = again
      // One that was just there when it was to stop: nobody else knows of it yet.
      if (stopping.signal.aborted) return void (await current.stop())
      log.info({ dataDir: options.dataDir }, 'PostgreSQL runs again')
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
