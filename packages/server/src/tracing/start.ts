import { observeGit } from '@svc/git'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { noTracing, type Tracing } from './tracing.ts'

interface RunningTracing {
  tracing: Tracing
  /** Sends the last spans, within a bounded time. */
  close(): Promise<void>
}

/** Loads the SDK only where a collector is configured. `log` is called later: the log has the ids of traces itself. */
export async function startTracing(config: Config, log: () => Deps['log']): Promise<RunningTracing> {
  if (config.tracing === null) return { tracing: noTracing, async close() {} }
  const { OpenTelemetry } = await import('./open-telemetry.ts')
  const tracing = new OpenTelemetry(config.tracing, {
    serverName: config.serverName,
    report: {
      stopped: (reason) =>
        log().warn({ reason }, 'the collector of traces takes no spans; they are dropped until it does'),
      resumed: () => log().info('the collector of traces takes spans again'),
    },
  })
  observeGit(tracing.git)
  return { tracing, close: () => tracing.close() }
}
