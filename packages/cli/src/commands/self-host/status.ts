import { command } from '../../arguments/command.ts'
import { green, red, yellow } from '../../terminal/output.ts'
import { askServer } from '../../self-host/ask-owner-link.ts'
import { changedSettings, dataDirOf, serverEnvironment } from '../../self-host/launch.ts'
import { runningServer, type ServerState } from '../../self-host/state.ts'

const askMs = 3000

export const status = command({
  summary: 'Show whether your server is running, its URL and its data folder',
  scope: 'nothing',
  examples: ['svc self-host status', 'svc self-host status --json'],
  async run(ctx) {
    const { out } = ctx
    const started = await runningServer(ctx)
    const server: Found | null = started ?? (await askServer(ctx))
    const changed = started === null ? [] : await changedSettings(ctx, started)
    const ready = server === null ? null : await askReady(server)
    if (out.json)
      return out.document({
        ...{ running: server !== null, ready: ready !== null, server, facts: ready },
        ...{ started_by_self_host: started !== null, changed_settings: changed },
      })
    if (server === null) {
      out.fields([
        ['server', red('not running')],
        ['data', dataDirOf(await serverEnvironment(ctx))],
      ])
      return out.note('Next: svc self-host start')
    }
    out.fields([
      ['server', ready === null ? yellow('running, but not responding') : green('running')],
      ['address', server.url],
      ['process', String(server.pid)],
      ['started', started === null ? 'not started by svc self-host' : out.time(started.started_at)],
      ['version', ready?.version ?? null],
      [
        'sandboxes',
        ready === null ? null : ready.sandbox.ready ? ready.sandbox.driver : (ready.sandbox.problem ?? 'none'),
      ],
      ['model', ready?.model ?? null],
      ['apps', ready?.providers.apps ?? null],
      ['connectors', ready?.providers.connectors ?? null],
      ['data', server.data_dir],
      ['log', started?.log ?? null],
    ])
    if (changed.length > 0)
      out.warn(`Started with other settings: ${changed.join(', ')}. They apply after svc self-host stop and start.`)
  },
})

/** Finds the server by its state file, or by the socket of its data folder. */
type Found = Pick<ServerState, 'pid' | 'url' | 'data_dir'>

interface Ready {
  version: string
  model: string
  providers: { apps: string; connectors: string }
  sandbox: { driver: string; ready: boolean; problem: string | null }
}

/** Null when it does not answer in time: it is starting, stopping or stuck. */
async function askReady(server: Found): Promise<Ready | null> {
  try {
    const reply = await fetch(`${server.url}/v1/ready`, { redirect: 'manual', signal: AbortSignal.timeout(askMs) })
    return reply.ok ? ((await reply.json()) as Ready) : null
  } catch {
    return null
  }
}
