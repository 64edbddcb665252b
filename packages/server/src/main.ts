import { randomUUID } from 'node:crypto'
import { relative, resolve } from 'node:path'
import { type OwnerSocket, serveOwnerSocket } from './accounts/sign-in/owner-socket.ts'
import { buildApp } from './app.ts'
import { appIngress } from './apps/ingress/ingress.ts'
import { isUuid } from './auth/allow.ts'
import { greet, type StartupHooks, wordsOnLeft } from './startup/banner.ts'
import { buildDeps } from './build-deps.ts'
import { type Config, operatorSecrets, readConfig, settingNames } from './config.ts'
import { backupsWithoutWorker, missingHiddenPaths, unknownSettings } from './config/warnings.ts'
import type { Deps } from './deps.ts'
import { examineServer } from './doctor/examine-server.ts'
import { armFailpoints } from './failpoint.ts'
import { recordFirstSandboxes } from './fleet/facts.ts'
import { makeForwarder } from './fleet/forwarder.ts'
import { watchHomes } from './fleet/watch-homes.ts'
import { Listener } from './listen.ts'
import { writerTo } from './log-file.ts'
import { logUnhandledRejections, makeLog } from './log.ts'
import { askFirstModel, type AskModel } from './models/upstreams/first-model.ts'
import { Redaction } from './redaction/redaction.ts'
import { getSandbox } from './sandboxes/store.ts'
import { type InstanceOptions, startHeartbeat, type RunningHeartbeat } from './scheduler/instance.ts'
import { deleteOtherInstances } from './scheduler/instance-store.ts'
import { JobWaker } from './scheduler/job-waker.ts'
import { jobs } from './scheduler/jobs.ts'
import { runJobs } from './scheduler/loop.ts'
import { replaceCutOff } from './sessions/lifecycle/cut-off.ts'
import { requireAllSaved } from './sessions/lifecycle/save-all.ts'
import { sandboxIngress } from './sessions/edge/sandbox-url-upgrade.ts'
import { beginSessions, reconcileSessions } from './sessions/jobs.ts'
import { previewIngress } from './sessions/edge/preview.ts'
import { terminalIngress } from './sessions/edge/terminal.ts'
import { commands, withoutConfig } from './startup/commands.ts'
import { lockDataFolder, readFolderId } from './startup/folder-lock.ts'
import { recordStop } from './startup/folder-records.ts'
import { refuseLackingDatabase } from './startup/other-database.ts'
import { Relay } from './startup/relay.ts'
import { makeDataDir, remakeRunDir, tidyRunDir } from './startup/run-dir.ts'
import { serverInfoOf } from './startup/server-info.ts'
import { Shutdown } from './startup/shutdown.ts'
import { startupLine } from './startup/startup-error.ts'
import { type WatchedFolder, watchFolder } from './startup/watch-folder.ts'
import { startTracing } from './tracing/start.ts'

export type { StartupHooks } from './startup/banner.ts'

const usage = `svc server runs the server in the foreground, until Ctrl-C. It takes no arguments: environment variables configure it
(docs/operate/server.md). In the background: svc self-host start
`

/** `svc server`: runs until SIGTERM or SIGINT. A failure to start is one line and exit code 1. */
export async function runServer(args: string[], hooks: StartupHooks): Promise<void> {
  const [first] = args
  const early = first === undefined ? undefined : withoutConfig[first]
  if (early !== undefined) {
    process.stdout.write(`${JSON.stringify(await early())}\n`)
    return
  }
  const command = first === undefined ? undefined : commands[first]
  if (first !== undefined && command === undefined) {
    const isHelp = ['--help', '-h', 'help'].includes(first)
    process[isHelp ? 'stdout' : 'stderr'].write(usage)
    process.exitCode = isHelp ? 0 : 2
    return
  }
  let config: Config | null = null
  try {
    config = readConfig()
    config.warnings = [
      ...unknownSettings(settingNames(), await hooks.knownSettings()),
      ...missingHiddenPaths(config.hiddenPaths),
      ...backupsWithoutWorker(config),
    ]
    armFailpoints(config.failpoints)
    if (command === undefined) return await serve({ ...config, isMasterKeyKnown: true }, hooks)
    process.stdout.write(`${JSON.stringify(await command(config, args.slice(1)))}\n`)
  } catch (error) {
    const line = startupLine(error, config)
    // The caller of a command shows the last such line. An unforeseen error has its trace behind it.
    if (line === null && command !== undefined) process.stderr.write(`svc server: ${messageOf(error)}\n`)
    if (line === null) throw error
    process.stderr.write(`svc server: ${line}\n`)
    process.exitCode = 1
  }
}

function messageOf(error: unknown): string {
  return String((error as Error | null)?.message || error).replaceAll(/\s*\n\s*/g, ' ')
}

async function serve(config: Config, hooks: StartupHooks): Promise<void> {
  const redaction = new Redaction(operatorSecrets(config))
  const { log, tracing, endTracing } = await openLog(config, redaction)
  const shutdown = new Shutdown({ log })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => shutdown.begin(signal))
  const listener = new Listener({
    fromSandbox: false,
    network: config.network,
    onRefused: (reason) => log.warn({ reason }, 'a connection was refused'),
    onFailed: logFailed(log),
  })
  const port = await listener.onPort(config.host, config.port)
  // A second server fails here, before it touches data.
  const folder = await orClose(lockFolder(config, log), listener)
  if (config.port === 0) config.publicUrl = config.publicUrl.replace(/:0$/, `:${port}`)
  const ofRelay = { fromSandbox: true, network: config.network, onFailed: logFailed(log) }
  const relay = new Relay({ make: () => new Listener(ofRelay), log })
  const parts = { log, redaction, tracing, folderId: folder.folderId, makeDriver: hooks.makeDriver }
  const built = await orClose(shutdown.wait('the start', buildDeps(config, parts)), listener)
  const { deps } = built
  deps.metrics.watchListener(listener)
  const peers = await orClose(listenToPeers(deps), listener, built)
  let heartbeat: RunningHeartbeat | null = null
  let owners: OwnerSocket | null = null
  try {
    if (config.databaseUrl === null) await deleteOtherInstances(deps.db, deps.instanceId)
    const waker = makeWaker(deps)
    let hasAdopted = false
    const onDeath = async () => {
      waker.wake('server_instances')
      // A sandbox that is not adopted yet looks lost. The start reconciles once they are.
      if (hasAdopted) await reconcileSessions(deps)
    }
    heartbeat = await shutdown.wait('the heartbeat', join(deps, { folderId: folder.folderId, onDeath }))
    const takeOver = async () => {
      await shutdown.wait('leftover sandboxes', takeOverSandboxes(deps))
      hasAdopted = true
      await shutdown.wait('apps', continueApps(deps))
    }
    const isHeld = deps.hold.held !== null
    if (!isHeld) await takeOver()
    await relay.onSocket(deps.relaySocket, afterRemoval(deps, built.runDir))
    const app = buildApp(deps)
    const forwarder = deps.peerTls === null ? null : makeForwarder(deps, deps.peerTls)
    relay.answerWith((request, env) => app.fetch(request, env), [], forwarder)
    // Signs the client in before the first request is answered, so that a script that waits for ready can go on.
    const greeting = await greet(deps, hooks, commandName(), built.joins)
    owners = await serveOwnerSocket(deps, {
      info: serverInfoOf(deps, built),
      examine: () => examineServer(deps),
      rewriteMasterKey: built.rewriteMasterKey,
      saveSessions: () => requireAllSaved(deps),
      stopWithSessions: () => shutdown.begin(withSessions),
    })
    const ingress = [appIngress(deps), previewIngress(deps), sandboxIngress(deps), terminalIngress(deps)]
    for (const each of [listener, peers])
      each?.answerWith((request, env) => app.fetch(request, env), ingress, forwarder)
    void showGreeting(greeting, log)
    const working = isHeld
      ? workOnceLifted(deps, takeOver, { signal: shutdown.signal, waker })
      : work(deps, shutdown.signal, waker)
    if (hooks.askModel !== undefined && process.stdin.isTTY && process.stdout.isTTY)
      void offerModel(deps, hooks.askModel, shutdown.signal)
    if (!isHeld) await beginSessions(deps)
    await shutdown.requested()
    folder.look()
    await Promise.all([
      shutdown.drain('open requests', Promise.all([listener.close(), peers?.close()])),
      // Beside the others: a model's answer may take as long as it may, and the agent asks for it again.
      shutdown.drain('requests of sandboxes', relay.close()),
      closeSandboxes(deps, shutdown),
      shutdown.drain('readers of events', deps.events.close()),
      shutdown.drain('background jobs', working),
    ])
    await shutdown.drain('the mark of the data folder', recordStop(deps))
  } finally {
    await shutdown.drain('connections', Promise.all([listener.close(), peers?.close(), relay.close(), owners?.close()]))
    await shutdown.wait('the heartbeat', Promise.resolve(heartbeat?.end()))
    await shutdown.wait('the database', built.close())
    await shutdown.wait('the last traces', endTracing())
    await tidyRunDir(built.runDir)
  }
  shutdown.over()
  folder.release()
}

/** With the ids of traces in its lines, where there is a collector. */
async function openLog(config: Config, redaction: Redaction) {
  const { tracing, close: endTracing } = await startTracing(config, () => log)
  const redact = (text: string) => redaction.everything(text)
  const write = writerTo({
    path: resolve(config.dataDir, 'log/server.log'),
    bytesMax: config.logBytesMax,
    onFailed: (error) => log.warn({ err: error }, 'failed to rotate the log file'),
    onLost: (lines) => log.error({ lines }, 'lines of the log are lost, because its disk was full'),
  })
  const log: Deps['log'] = makeLog(config.log, redact, write, () => tracing.ids())
  log.level = config.logLevel
  logUnhandledRejections(log)
  return { log, tracing, endTracing }
}

async function join(deps: Deps, options: InstanceOptions): Promise<RunningHeartbeat> {
  await recordFirstSandboxes(deps)
  return startHeartbeat(deps, options)
}

/** Ends what has begun if the next step of the start fails. */
async function orClose<T>(step: Promise<T>, ...begun: { close(): Promise<unknown> }[]): Promise<T> {
  try {
    return await step
  } catch (error) {
    await Promise.all(begun.map((each) => each.close()))
    throw error
  }
}

/** Beside the work, which does not wait for it. */
async function showGreeting(greeting: () => Promise<string>, log: Deps['log']): Promise<void> {
  try {
    process.stdout.write(await greeting())
  } catch (error) {
    log.error({ err: error }, 'failed to say at the start that the server is ready; it serves requests')
  }
}

async function work(deps: Deps, signal: AbortSignal, waker: JobWaker): Promise<void> {
  const homes = deps.home === null ? null : watchHomes(deps, signal)
  await Promise.all([homes, deps.config.roles.worker ? runJobs(jobs(deps), signal, deps, waker) : null])
}

/** After a restore: answers reads, and begins to work when the operator resumes it. */
async function workOnceLifted(
  deps: Deps,
  takeOver: () => Promise<void>,
  { signal, waker }: { signal: AbortSignal; waker: JobWaker },
): Promise<void> {
  if (!(await deps.hold.lifted(deps, signal))) return
  deps.log.info('the server was resumed after a restore, and works from now on')
  await takeOver()
  await beginSessions(deps)
  await work(deps, signal, waker)
}

/** A session that is adopted changes no row, and the jobs of its sandbox have to know it. */
function makeWaker(deps: Deps): JobWaker {
  const waker = new JobWaker(deps)
  deps.sessions.onAttached((projectId) => waker.wake('project_sessions', projectId))
  // A new home has to run the triggers, checks and apps that it finds.
  deps.homeGate.onChange((projectId) => waker.wake('projects', projectId))
  return waker
}

/** Says what to do where someone removes the socket for sandboxes below the running server. */
function afterRemoval(deps: Deps, runDir: string): Parameters<Relay['onSocket']>[1] {
  const failed = (error: unknown) => deps.log.error({ err: error }, 'failed to replace the sandboxes that are cut off')
  return {
    makeFolder: () => remakeRunDir(deps.config, runDir),
    onCutOff: () => replaceCutOff(deps).catch(failed),
  }
}

/** The reason of a stop that ends sessions, too. */
const withSessions = 'stop with sessions'

async function lockFolder(config: Config, log: Deps['log']): Promise<WatchedFolder> {
  const { dataDir } = config
  // Nothing is made where a disk is not mounted.
  if (readFolderId(dataDir) === null) refuseLackingDatabase(config)
  await makeDataDir(dataDir)
  return watchFolder(lockDataFolder(dataDir, randomUUID), { dataDir, log })
}

function logFailed(log: Deps['log']): (error: unknown) => void {
  return (error) => log.error({ err: error }, 'a request failed before its handler could answer it')
}

/** Null: other servers use the listener of everyone, or there are none. */
async function listenToPeers({ config, peerTls, serverName, log }: Deps): Promise<Listener | null> {
  if (peerTls === null || config.peerListen === null) return null
  const isEncrypted = config.peerUrl?.startsWith('https:') === true
  const listener = new Listener({
    fromSandbox: false,
    peersOnly: true,
    network: { ...config.network, proxyProtocol: false },
    tls: isEncrypted ? await peerTls.certificate(serverName) : null,
    onRefused: (reason) => log.warn({ reason }, 'a connection of another server was refused'),
    onFailed: logFailed(log),
  })
  await listener.onPort(config.peerListen.host, config.peerListen.port, 'SVC_PEER_LISTEN')
  return listener
}

/** Before the first request is answered, so that apps that went on are not reported as down. */
async function continueApps({ apps, config, log }: Deps): Promise<void> {
  const retried = (error: unknown) => log.error({ err: error }, 'reconciling apps failed; retrying')
  if (config.roles.worker) await apps.reconcile().catch(retried)
}

async function closeSandboxes(deps: Deps, shutdown: Shutdown): Promise<void> {
  const how = { endsSandboxes: shutdown.signal.reason === withSessions }
  const left = { sessions: 0, apps: 0, checks: 0 }
  const close = async (kind: keyof typeof left) => void (left[kind] = await deps[kind].close(how))
  await Promise.all((['apps', 'checks', 'sessions'] as const).map((kind) => shutdown.drain(kind, close(kind))))
  deps.feed.close()
  process.stdout.write(wordsOnLeft(deps.config, left, commandName()))
}

async function takeOverSandboxes({ sandboxes, db, config }: Deps): Promise<void> {
  const left = (await sandboxes?.adopt()) ?? []
  await sandboxes?.sweep()
  if (config.roles.worker) return
  // Only the jobs of a worker continue apps, checks and warm sandboxes, or end them.
  for (const { sandboxId } of left)
    if (!isUuid(sandboxId) || (await getSandbox(db, sandboxId)) === null) await sandboxes?.stop(sandboxId)
}

/** In parallel: requests are answered while the question is open. */
async function offerModel(deps: Deps, ask: AskModel, signal: AbortSignal): Promise<void> {
  try {
    const line = await askFirstModel(deps, ask, signal)
    if (line !== null) process.stdout.write(`${line}\n`)
  } catch (error) {
    deps.log.warn({ err: error }, 'failed to save the answer to the model question')
  }
}

/** The shortest command by which the person at this terminal can run this program. */
function commandName(): string {
  const path = relative(process.cwd(), process.execPath)
  const fromHere = `./${path}`
  // In the root folder, where a server in the background runs, the whole path is shorter.
  return path.startsWith('..') || fromHere.length > process.execPath.length ? process.execPath : fromHere
}
