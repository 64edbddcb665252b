import { command } from '../../command.ts'
import { green, red, yellow } from '../../output.ts'
import { dataDirOf, serverEnvironment } from '../../self-host/launch.ts'
import { runningServer, type ServerState } from '../../self-host/state.ts'

const askMs = 3000

export const status = command({
  summary: 'Whether your server runs, where, and with which data',
  scope: 'nothing',
  args: {},
  flags: {},
  examples: ['svc self-host status', 'svc self-host status --json'],
  async run(ctx) {
    const { out } = ctx
    const server = await runningServer(ctx)
    const ready = server === null ? null : await askReady(server)
    if (out.json) return out.document({ running: server !== null, ready: ready !== null, server, facts: ready })
    if (server === null) {
      out.fields([
        ['server', red('not running')],
        ['data', dataDirOf(await serverEnvironment(ctx))],
      ])
      return out.note('Next: svc self-host start')
    }
    out.fields([
      ['server', ready === null ? yellow('running, does not answer') : green('running')],
      ['address', server.url],
      ['process', String(server.pid)],
      ['started', out.time(server.started_at)],
      ['version', ready?.version ?? null],
      [
        'sandboxes',
        ready === null ? null : ready.sandbox.ready ? ready.sandbox.driver : (ready.sandbox.problem ?? 'none'),
      ],
      ['model', ready?.model ?? null],
      ['apps', ready?.providers.apps ?? null],
      ['connectors', ready?.providers.connectors ?? null],
      ['data', server.data_dir],
      ['log', server.log],
    ])
  },
})

interface Ready {
  version: string
  model: string
  providers: { apps: string; connectors: string }
  sandbox: { driver: string; ready: boolean; problem: string | null }
}

/** Null when it does not answer in time: it starts, stops or hangs. */
async function askReady(server: ServerState): Promise<Ready | null> {
  try {
    const reply = await fetch(`${server.url}/v1/ready`, { redirect: 'manual', signal: AbortSignal.timeout(askMs) })
    return reply.ok ? ((await reply.json()) as Ready) : null
  } catch {
    return null
  }
}
