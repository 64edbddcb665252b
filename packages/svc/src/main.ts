/** The one program. By its name and first word it loads the client, the server or the daemon, and nothing else. */
import { basename } from 'node:path'

const name = basename(process.argv0)

if (name === 'svc-entrypoint') await (await import('@svc/daemon/entrypoint')).runEntrypoint()
else if (name === 'svc-agent') await (await import('@svc/daemon')).runAgent(process.argv.slice(2))
else if (process.argv[2] === 'server') await startServer()
else process.exitCode = await (await import('@svc/cli')).runClient(process)

async function startServer(): Promise<void> {
  ;(await import('./raise-request-limit.ts')).raiseRequestLimit()
  const { runServer } = await import('@svc/server')
  await runServer(process.argv.slice(3), {
    rememberOwner: async (owner) => (await import('./remember-owner.ts')).rememberOwner(owner),
    knownSettings: async () => Object.keys((await import('@svc/cli/self-host/settings')).settings),
    askModel: async (...of) => (await import('./ask-model.ts')).askForModel(...of),
  })
}
