import { relative } from 'node:path'
import { type OwnerSocket, serveOwnerSocket } from './accounts/owner-socket.ts'
import { buildApp } from './app.ts'
import { appDoor } from './apps/door.ts'
import { greet, type StartupHooks } from './banner.ts'
import { buildDeps } from './build-deps.ts'
import { type Config, operatorSecrets, readConfig } from './config.ts'
import type { Deps } from './deps.ts'
import { armFailpoints } from './failpoint.ts'
import { Listener } from './listen.ts'
import { logUnhandledRejections, makeLog } from './log.ts'
import { askFirstModel, type AskModel } from './models/first-model.ts'
import { Redaction } from './redaction/redaction.ts'
import { beginLife, endOtherInstances, type Life } from './scheduler/instance.ts'
import { jobs } from './scheduler/jobs.ts'
import { runJobs } from './scheduler/loop.ts'
import { sandboxDoor } from './sessions/edge-upgrade.ts'
import { settleSessions } from './sessions/jobs.ts'
import { previewDoor } from './sessions/preview.ts'
import { terminalDoor } from './sessions/terminal.ts'
import { startupLine } from './startup-error.ts'

export type { StartupHooks } from './banner.ts'

/** `svc server`: runs until SIGTERM or SIGINT. Trouble at the start is one line and exit code 1. */
export async function runServer(args: string[], hooks: StartupHooks): Promise<void> {
  let config: Config | null = null
  try {
    config = readConfig()
    armFailpoints(config.failpoints)
    if (args.includes('--doctor')) {
      const { examineMachine } = await import('./doctor.ts')
      process.stdout.write(`${JSON.stringify(await examineMachine(config))}\n`)
      return
    }
    if (args.includes('--rotate-key')) {
      const { rotateKeyOf } = await import('./keyring/rotate-command.ts')
      process.stdout.write(`${JSON.stringify(await rotateKeyOf(config))}\n`)
      return
    }
    await serve(config, hooks)
  } catch (error) {
    const line = startupLine(error, config)
    if (line === null) throw error
    process.stderr.write(`svc server: ${line}\n`)
    process.exitCode = 1
  }
}

async function serve(config: Config, hooks: StartupHooks): Promise<void> {
  const redaction = new Redaction(operatorSecrets(config))
  const log = makeLog(config.log, (text) => redaction.everything(text))
  logUnhandledRejections(log)
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort(signal))
  const door = new Listener({
    fromSandbox: false,
    network: config.network,
    onRefused: (reason) => log.warn({ reason }, 'a connection was refused'),
  })
  const port = await door.onPort(config.host, config.port)
  if (config.port === 0) config.publicUrl = config.publicUrl.replace(/:0$/, `:${port}`)
  const relay = new Listener({ fromSandbox: true, network: config.network })
  const built = await buildDeps(config, log, redaction).catch(async (error: unknown) => {
    await door.close()
    throw error
  })
  const { deps } = built
  deps.metrics.watchListener(door)
  let life: Life | null = null
  let owners: OwnerSocket | null = null
  try {
    if (config.databaseUrl === null) await endOtherInstances(deps)
    life = await beginLife(deps)
    await deps.sandboxes?.sweep()
    await relay.onSocket(deps.relaySocket)
    const app = buildApp(deps)
    relay.answerWith((request, env) => app.fetch(request, env))
    // The client is signed in before the first request is answered: whoever waits for ready can go on at once.
    const greeting = await greet(deps, hooks, commandName())
    owners = await serveOwnerSocket(deps)
    door.answerWith(
      (request, env) => app.fetch(request, env),
      [appDoor(deps), previewDoor(deps), sandboxDoor(deps), terminalDoor(deps)],
    )
    process.stdout.write(greeting)
    const working = config.roles.worker ? runJobs(jobs(deps), stopping.signal, deps) : Promise.resolve()
    if (hooks.askModel !== undefined && process.stdin.isTTY && process.stdout.isTTY)
      void offerModel(deps, hooks.askModel, stopping.signal)
    await settleSessions(deps)
    await untilAborted(stopping.signal)
    log.info({ signal: String(stopping.signal.reason) }, 'stopping')
    await Promise.all([door.close(), deps.apps.close(), deps.checks.close(), deps.keeper.close(), deps.events.close()])
    await working
  } finally {
    await Promise.all([door.close(), relay.close(), owners?.close()])
    await life?.end()
    await built.close()
  }
}

/** Beside everything else: requests are answered while the question stands. */
async function offerModel(deps: Deps, ask: AskModel, signal: AbortSignal): Promise<void> {
  try {
    const line = await askFirstModel(deps, ask, signal)
    if (line !== null) process.stdout.write(`${line}\n`)
  } catch (error) {
    deps.log.warn({ err: error }, 'the question for a model was not kept')
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** How the person at this terminal calls the client: the program itself, as short as it can be said from here. */
function commandName(): string {
  const path = relative(process.cwd(), process.execPath)
  return path.startsWith('..') ? process.execPath : path.includes('/') ? `./${path}` : path
}
