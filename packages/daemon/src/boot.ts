/** Boots a sandbox: listen, clone, configure, start the runtime, deliver the first prompt. */
import { writeFileSync } from 'node:fs'
import type { Server } from 'node:net'
import { join } from 'node:path'

import {
  type BootStep,
  daemonPort,
  type DaemonHealth,
  egressPort,
  relayPort,
  runtimePort,
} from '@svc/contract/daemon/control'

import { handledLater } from './child.ts'
import { createAccess } from './http/access.ts'
import { ControlError } from './http/reply.ts'
import { type AgentRuntime, createAgentRuntime } from './runtime/agent-runtime.ts'
import { writeAttachment } from './runtime/attachments.ts'
import { type AgentIdentity, type DaemonConfig, type DaemonPaths, readConfig } from './config.ts'
import { createConversation } from './runtime/conversation.ts'
import type { Addresses } from './http/listeners.ts'
import { type HttpParts, listen } from './http/server.ts'
import type { SandboxProcess } from './runtime/processes.ts'
import { createRefresh } from './runtime/refresh.ts'
import { startRelay } from './http/relay.ts'
import {
  proxyEnvironment,
  runtimeConfig,
  runtimeEnvironment,
  writeEmptyCatalog,
  writeEnforcedConfig,
} from './runtime/runtime-config.ts'
import { createSessionEnv } from './runtime/session-env.ts'
import { writeCommandShell } from './runtime/shell.ts'
import { runSetup } from './workspace/setup.ts'
import type { OwnPorts } from './http/target.ts'
import { serveTerminals } from './http/terminals.ts'
import { createWarmSandbox } from './runtime/warm.ts'
import { createFileReader } from './workspace/read-files-child.ts'
import { createWorkRecoverer, createWorkSaver } from './workspace/save-work-child.ts'
import { createWorkspace, type Workspace } from './workspace/workspace.ts'

export interface DaemonOptions {
  env: Record<string, string | undefined>
  identity: AgentIdentity
  paths: DaemonPaths
  /** The command that git runs as its credential helper. */
  credentialHelper: string
  runtimeCommand: string[]
  /** Commands that start this program and the client as the agent. */
  programs: { agent: string[]; client: string[] }
  listen: Addresses
  /** Null where the sandbox has its own network. */
  relay: { port: number; socketPath: string } | null
  /** The egress proxy; null where the sandbox has none. */
  egress: { port: number; socketPath: string } | null
  ports?: OwnPorts
  processes?: () => SandboxProcess[]
  log: (message: string) => void
}

export async function startDaemon(options: DaemonOptions) {
  const startedAt = performance.now()
  const timeline = createTimeline(startedAt)
  const ports = options.ports ?? { daemon: daemonPort, relay: relayPort, egress: egressPort, runtime: runtimePort }
  const read = readConfig(options.env)
  const config = 'problems' in read ? null : read
  let bootError = 'problems' in read ? `The boot environment is invalid: ${read.problems.join(' ')}` : null
  let status: DaemonHealth['status'] = 'booting'
  let workspace: Workspace | null = null
  let runtime: AgentRuntime | null = null

  async function health(): Promise<DaemonHealth> {
    const runtimeState = runtime?.state ?? 'stopped'
    // The sandbox also fails when the runtime stops being restarted after the sandbox was ready.
    const failed = status === 'failed' || runtimeState === 'failed'
    return {
      daemon: 'ok',
      status: failed ? 'failed' : status,
      runtime: runtimeState,
      repository: config?.repoUrl ?? '',
      branch: config?.branch ?? '',
      commit: (await workspace?.commit()) ?? null,
      generation: config?.generation ?? 0,
      uptime_ms: Math.round(performance.now() - startedAt),
      boot: timeline.steps,
      runtime_session_id: parts.conversation?.runtimeSessionId ?? null,
      error: bootError ?? runtime?.error ?? null,
      runtime_starts: runtime?.starts ?? 0,
      runtime_asleep_ms: runtime?.asleepMs ?? null,
    }
  }

  const parts: HttpParts = {
    access: null,
    conversation: null,
    setSecrets: null,
    attach: null,
    refresh: null,
    warm: null,
    work: null,
    recover: null,
    files: null,
    terminals: null,
    health,
    ports,
    serviceKey: () => config?.token ?? '',
    runtimeState: () => runtime?.state ?? 'starting',
    runtimeError: () => runtime?.error ?? null,
    useRuntime: async () => (await runtime?.use()) ?? (() => {}),
    usePort: (port) => runtime?.usePort(port) ?? (() => {}),
    holdStream: (reopen) => runtime?.hold(reopen) ?? null,
    log: options.log,
  }

  // Listen first, so that the server can follow the boot.
  const listeners = await timeline.step('listen', () => listen(parts, options.listen))
  const relays: Server[] = []

  async function boot(): Promise<void> {
    if (config === null) throw new Error(bootError ?? 'The boot environment is invalid.')
    const { token, sessionId, generation } = config
    parts.access = await createAccess({ token, sessionId, generation })
    for (const relay of [options.relay, options.egress]) if (relay !== null) relays.push(await startRelay(relay))
    const tree = createWorkspace({ ...options, config })
    tree.prepare()
    workspace = tree
    const sessionEnv = createSessionEnv({
      file: options.paths.sessionEnv,
      atStart: config.secrets,
      revision: config.platform['SVC_PROJECT_SECRETS_REVISION'] ?? '',
    })
    parts.setSecrets = ({ revision, env, names }) => {
      // The platform variables that describe the secrets.
      const platform: Record<string, string> = {
        SVC_PROJECT_SECRETS_REVISION: revision,
        ...(names === undefined ? {} : { SVC_PROJECT_SECRET_NAMES: names.join(',') }),
      }
      const changed = sessionEnv.replace(revision, env, platform)
      Object.assign(config.platform, platform)
      return changed
    }
    parts.attach = (body) => writeAttachment(options, body)
    const started = createRuntime(config, options, ports.runtime, {
      secrets: () => sessionEnv.secrets,
      // A claim must find the runtime of a warm sandbox at once.
      stopMs: () => (parts.warm === null ? config.stopMs : null),
    })
    const settings = runtimeConfig(config, writeCommandShell(options.paths.runtimeDir))
    writeFileSync(join(options.paths.runtimeDir, 'opencode.json'), JSON.stringify(settings), { mode: 0o644 })
    writeEmptyCatalog(options.paths)
    writeEnforcedConfig(config, options.paths)

    // The runtime takes a second to load and reads no repository file before its first request, so the clone runs in
    // parallel.
    runtime = started
    const startRuntime = () => {
      started.start()
      const ready = timeline.step('runtime', () => started.whenReady())
      // Awaited below. This prevents an unhandled rejection when the clone fails first.
      ready.catch(handledLater)
      return ready
    }
    const { setup } = config
    // The project's own runtime may be a file in the repository, so it starts after the clone.
    const startedEarly = setup === null && config.runtimeCommand === null ? startRuntime() : null
    const conversation = createConversation({
      runtime: started,
      agentName: config.agentName,
      model: config.model,
      models: Object.keys(config.models),
      title: config.sessionId,
    })
    const session = { config, tree, runtime: started, conversation, sessionEnv }
    const claimed = () => begin(session)
    const warm = config.warm ? wait({ ...session, claimed }) : null
    if (config.clone) await timeline.step('clone', () => warm?.filled ?? tree.clone())
    await timeline.step('configure', () => (config.clone ? tree.copyConfigDir() : Promise.resolve()))
    if (setup !== null) {
      const env = runtimeVariables(config, options, sessionEnv.secrets)
      await timeline.step('setup', () => runSetup({ ...options, command: setup, env }))
    }
    await (startedEarly ?? startRuntime())
    if (warm === null) return claimed()
    await timeline.step('prime', () => warm.prime())
    status = 'warm'
  }

  /** Opens the routes that fill and claim this warm sandbox. */
  function wait(session: Parameters<typeof createWarmSandbox>[0]): ReturnType<typeof createWarmSandbox> {
    const warm = createWarmSandbox(session)
    parts.warm = {
      follow: warm.follow,
      claim: (env, commit) => timeline.step('claim', () => warm.claim(env, commit)),
    }
    return warm
  }

  /** Hands the sandbox to its session: opens the session routes and sends the first prompt. */
  async function begin(session: Omit<Parameters<typeof createWarmSandbox>[0], 'claimed'>): Promise<void> {
    const { config, conversation, sessionEnv } = session
    const env = () => runtimeVariables(config, options, sessionEnv.secrets)
    parts.conversation = conversation
    parts.refresh = createRefresh(session)
    parts.warm = null
    // Opened only now: a partial checkout, or one without a session, is not work to save.
    parts.work = createWorkSaver({ ...options, command: options.programs.agent })
    parts.files = createFileReader({ ...options, command: options.programs.agent })
    const recover = createWorkRecoverer({
      ...options,
      client: options.programs.client,
      sessionId: config.sessionId,
      env,
    })
    parts.recover = () => session.runtime.whileInUse(recover)
    parts.terminals = serveTerminals({
      ...options,
      socketPath: join(options.paths.runtimeDir, 'terminals.sock'),
      cwd: options.paths.workspace,
      env,
    })
    const text = config.initialPrompt
    if (config.openSessionAtBoot)
      await timeline.step('prompt', () =>
        onceRestarted(session.runtime, async () => {
          if (text === null) await conversation.open()
          // The first prompt has the id of the session.
          else await conversation.prompt(text, config.sessionId, null)
        }),
      )
    status = 'ready'
    // Not awaited: a prompt that arrives first loads the same things.
    if (!config.warm && !config.openSessionAtBoot)
      conversation.warm().catch((error: unknown) => options.log(`the runtime could not be primed: ${String(error)}`))
  }

  const booted = boot().catch((error: unknown) => {
    status = 'failed'
    bootError = error instanceof Error ? error.message : String(error)
    options.log(`boot failed: ${bootError}`)
  })

  return {
    health,
    /** Resolves when the boot ends, successfully or not; `health` reports the result. */
    booted,
    async stop(): Promise<void> {
      listeners.close()
      for (const relay of relays) relay.close()
      parts.terminals?.stop()
      await runtime?.stop()
    },
  }
}

function createRuntime(
  config: DaemonConfig,
  options: DaemonOptions,
  port: number,
  { secrets, stopMs }: { secrets: () => Record<string, string>; stopMs: () => number | null },
): AgentRuntime {
  return createAgentRuntime({
    command:
      config.runtimeCommand === null
        ? options.runtimeCommand
        : [...config.runtimeCommand, 'serve', '--port', String(port), '--hostname', '127.0.0.1'],
    cwd: options.paths.workspace,
    env: () => runtimeVariables(config, options, secrets()),
    identity: options.identity,
    port,
    log: options.log,
    freezeMs: config.freezeMs,
    stopMs,
    ...(options.processes === undefined ? {} : { processes: options.processes }),
  })
}

/** Between the end of the runtime and its next start. */
const restartLookMs = 50

/** The runtime may end and be restarted during the act. Once it has failed for good, the act says so. */
async function onceRestarted(runtime: AgentRuntime, act: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof ControlError) || error.code !== 'runtime_booting') throw error
    }
    await Bun.sleep(restartLookMs)
    await runtime.whenReady().catch(handledLater)
  }
}

const runtimeVariables = (config: DaemonConfig, options: DaemonOptions, secrets: Record<string, string>) => ({
  ...runtimeEnvironment(config, options.paths, secrets),
  ...proxyEnvironment(options.egress),
})

function createTimeline(startedAt: number) {
  const steps: DaemonHealth['boot'] = []
  const at = () => Math.round(performance.now() - startedAt)
  return {
    steps,
    async step<T>(step: BootStep, act: () => Promise<T>): Promise<T> {
      const entry: DaemonHealth['boot'][number] = { step, at_ms: at(), ms: null }
      steps.push(entry)
      try {
        return await act()
      } catch (error) {
        entry.failed = true
        throw error
      } finally {
        entry.ms = at() - entry.at_ms
      }
    },
  }
}
