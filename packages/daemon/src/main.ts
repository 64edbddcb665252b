/** `svc-agent`: the sandbox daemon, git's credential helper, and the programs that save and read the work tree. */

export async function runAgent(args: string[]): Promise<void> {
  if (args[0] === 'git-credential') await runGitCredential(args[1])
  else if (args[0] === 'save-work') await runSaving()
  else if (args[0] === 'read-files') await runReading()
  else if (args[0] === 'app-files') await runAppFiles(args.slice(1))
  else await runDaemon(args)
}

async function runDaemon(args: string[]): Promise<void> {
  const { existsSync } = await import('node:fs')
  const { dirname } = await import('node:path')
  const contract = await import('@svc/contract/daemon/control')
  const { daemonPort, daemonSocketPath, egressPort, egressSocketPath, relayPort, relaySocketPath, runtimePort } =
    contract
  const { readIdentity, sandboxPaths } = await import('./config.ts')
  const { startDaemon } = await import('./boot.ts')
  const { readUidMap } = await import('./workspace/workspace.ts')
  const identity = readIdentity(args, readUidMap())
  if (identity.uid === null) {
    const { forbidInspection } = await import('./inspection.ts')
    forbidInspection()
  }
  const log = (message: string) => void process.stderr.write(`svc-agent: ${message}\n`)
  const leaseSeconds = Number(args[args.indexOf('--lease') + 1] ?? 0)
  const lease = args.includes('--lease') ? { seconds: leaseSeconds, ended: () => process.exit(0) } : null
  const egress = existsSync(dirname(egressSocketPath)) ? { port: egressPort, socketPath: egressSocketPath } : null
  const kind = process.env[contract.sandboxKindName]
  if (kind === 'app' || kind === 'check') {
    const { startAppDaemon } = await import('./app/serve.ts')
    const app = await startAppDaemon({
      kind,
      env: process.env,
      identity,
      paths: sandboxPaths,
      program: ['/usr/local/bin/svc-agent'],
      socketPath: daemonSocketPath,
      lease,
      egress,
      log,
    })
    endOnSignal(log, async () => app.stop())
    return
  }
  const daemon = await startDaemon({
    env: process.env,
    identity,
    paths: sandboxPaths,
    credentialHelper: '/usr/local/bin/svc-agent',
    programs: { agent: ['/usr/local/bin/svc-agent'], client: ['/usr/local/bin/svc'] },
    runtimeCommand: ['opencode', 'serve', '--port', String(runtimePort), '--hostname', '127.0.0.1'],
    listen: { tcp: { host: '127.0.0.1', port: daemonPort }, socketPath: daemonSocketPath, lease },
    relay: { port: relayPort, socketPath: relaySocketPath },
    egress,
    log,
  })
  endOnSignal(log, () => daemon.stop())
}

function endOnSignal(log: (message: string) => void, stop: () => Promise<void>): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      log(`stopping on ${signal}`)
      void stop().finally(() => process.exit(0))
    })
  }
}

async function runAppFiles([folder = '', port = '']: string[]): Promise<void> {
  const { serveFiles } = await import('./app/files.ts')
  await serveFiles(folder, Number(port))
}

async function runGitCredential(operation: string | undefined): Promise<void> {
  const { answerGitCredential } = await import('./workspace/git-credential.ts')
  // git prints the error's line, then reports that it has no password.
  await orFail('svc-agent: ', async () => {
    const request = await Bun.stdin.text()
    process.stdout.write(await answerGitCredential({ operation, request, env: process.env }))
  })
}

async function runSaving(): Promise<void> {
  const { runSaveWork } = await import('./workspace/save-work-child.ts')
  await orFail('', runSaveWork)
}

async function runReading(): Promise<void> {
  const { runReadFiles } = await import('./workspace/read-files-child.ts')
  await orFail('', runReadFiles)
}

async function orFail(prefix: string, act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    process.stderr.write(`${prefix}${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
