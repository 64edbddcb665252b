/** From an empty sandbox to a running conversation: listen, clone, configure, start the runtime, deliver the first prompt. */
import { writeFileSync } from 'node:fs'
import type { Server } from 'node:net'
import { join } from 'node:path'

import { type BootStep, daemonPort, type DaemonHealth, egressPort, relayPort, runtimePort } from '@svc/contract/daemon'

import { createAccess } from './access.ts'
import { type AgentRuntime, createAgentRuntime } from './agent-runtime.ts'
import { type AgentIdentity, type DaemonConfig, type DaemonPaths, readConfig } from './config.ts'
import { type Conversation, createConversation } from './conversation.ts'
import { type HttpParts, listen } from './http.ts'
import { startRelay } from './relay.ts'
import { proxyEnvironment, runtimeConfig, runtimeEnvironment, writeEnforcedConfig } from './runtime-config.ts'
import { createSessionEnv } from './session-env.ts'
import { runSetup } from './setup.ts'
import type { OwnPorts } from './target.ts'
import { serveTerminals } from './terminals.ts'
import { createWarmSandbox } from './warm.ts'
import { createWorkRecoverer, createWorkSaver } from './save-work-child.ts'
import { createWorkspace, type RefreshOutcome, type Workspace } from './workspace.ts'

export interface DaemonOptions {
  env: Record<string, string | undefined>
  identity: AgentIdentity
  paths: DaemonPaths
  /** How git starts the credential helper. */
  credentialHelper: string
  runtimeCommand: string[]
  /** How this program and the client are started again, as the agent. */
  programs: { agent: string[]; client: string[] }
  listen: { tcp: { host: string; port: number } | null; socketPath: string | null }
  /** Null where the sandbox has a way out of its own. */
  relay: { port: number; socketPath: string } | null
  /** The way out to other hosts, as an HTTP proxy; null where the sandbox has none. */
  egress: { port: number; socketPath: string } | null
  ports?: OwnPorts
  log: (message: string) => void
}

export interface Daemon {
  health(): Promise<DaemonHealth>
  /** Resolves when the boot is over, well or not: `health` says which. */
  booted: Promise<void>
  stop(): Promise<void>
}

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const startedAt = performance.now()
  const timeline = createTimeline(startedAt)
  const ports = options.ports ?? { daemon: daemonPort, relay: relayPort, egress: egressPort, runtime: runtimePort }
  const read = readConfig(options.env)
  const config = 'problems' in read ? null : read
  let bootError = 'problems' in read ? `The boot environment is wrong: ${read.problems.join(' ')}` : null
  let status: DaemonHealth['status'] = 'booting'
  let workspace: Workspace | null = null
  let runtime: AgentRuntime | null = null

  async function health(): Promise<DaemonHealth> {
    const runtimeState = runtime?.state ?? 'stopped'
    // A runtime that is given up on later fails a sandbox that was once ready.
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
    }
  }

  const parts: HttpParts = {
    access: null,
    conversation: null,
    sessionEnv: null,
    refresh: null,
    warm: null,
    work: null,
    recover: null,
    terminals: null,
    health,
    ports,
    serviceKey: () => config?.token ?? '',
    runtimeState: () => runtime?.state ?? 'starting',
    runtimeError: () => runtime?.error ?? null,
    log: options.log,
  }

  // Before anything else: whoever waits for this sandbox sees from here what it is doing.
  const listeners = await timeline.step('listen', () => listen(parts, options.listen))
  const relays: Server[] = []

  async function boot(): Promise<void> {
    if (config === null) throw new Error(bootError ?? 'The boot environment is wrong.')
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
    parts.sessionEnv = sessionEnv
    const started = createRuntime(config, options, ports.runtime, () => sessionEnv.secrets)
    writeFileSync(join(options.paths.runtimeDir, 'opencode.json'), JSON.stringify(runtimeConfig(config)), {
      mode: 0o644,
    })
    writeEnforcedConfig(config, options.paths)

    // The runtime takes a second to load itself and looks at no file of the repository before it is first asked
    // something, so the clone happens meanwhile.
    runtime = started
    const startRuntime = () => {
      started.start()
      const ready = timeline.step('runtime', () => started.whenReady())
      // It is awaited below; should the clone fail first, its own failure is still no unhandled one.
      ready.catch(() => {})
      return ready
    }
    const { setup } = config
    // A program of the project's own may be a file of the repository, so it waits for the clone.
    const startedMeanwhile = setup === null && config.runtimeCommand === null ? startRuntime() : null
    const conversation = createConversation({
      runtime: started,
      agentName: config.agentName,
      model: config.model,
      title: config.sessionId,
    })
    const claimed = () => begin(config, tree, started, conversation)
    const warm = config.warm ? wait({ config, tree, runtime: started, conversation, sessionEnv, claimed }) : null
    if (config.clone) await timeline.step('clone', () => warm?.filled ?? tree.clone())
    await timeline.step('configure', () => (config.clone ? tree.copyConfigDir() : Promise.resolve()))
    if (setup !== null) {
      const env = runtimeVariables(config, options, sessionEnv.secrets)
      await timeline.step('setup', () => runSetup({ ...options, command: setup, env }))
    }
    await (startedMeanwhile ?? startRuntime())
    if (warm === null) return claimed()
    await timeline.step('prime', () => warm.prime())
    status = 'warm'
  }

  /** From here on a session can claim it. */
  function wait(of: Parameters<typeof createWarmSandbox>[0]): ReturnType<typeof createWarmSandbox> {
    const warm = createWarmSandbox(of)
    parts.warm = {
      follow: warm.follow,
      claim: (env, commit) => timeline.step('claim', () => warm.claim(env, commit)),
    }
    return warm
  }

  /** From here on it is a session's: its first prompt goes out, and it can be prompted. */
  async function begin(
    config: DaemonConfig,
    tree: Workspace,
    runtime: AgentRuntime,
    conversation: Conversation,
  ): Promise<void> {
    parts.conversation = conversation
    parts.refresh = singleFlight(() => refresh(tree, runtime))
    parts.warm = null
    // Not before: half a checkout, or one that waits for a session, is nobody's work.
    parts.work = createWorkSaver({ ...options, command: options.programs.agent })
    parts.recover = createWorkRecoverer({
      ...options,
      client: options.programs.client,
      sessionId: config.sessionId,
      env: () => runtimeVariables(config, options, parts.sessionEnv?.secrets ?? {}),
    })
    parts.terminals = serveTerminals({
      ...options,
      socketPath: join(options.paths.runtimeDir, 'terminals.sock'),
      cwd: options.paths.workspace,
      env: () => runtimeVariables(config, options, parts.sessionEnv?.secrets ?? {}),
    })
    await firstPrompt(config, async (text) => {
      await timeline.step('prompt', async () => {
        await (text === null ? conversation.open() : conversation.prompt(text, 'svc-initial-prompt'))
      })
    })
    status = 'ready'
    // Nobody need wait for it: a prompt that comes first does the same work.
    if (!config.warm && !config.openSessionAtBoot)
      conversation.warm().catch((error: unknown) => options.log(`the runtime was not primed: ${String(error)}`))
  }

  const booted = boot().catch((error: unknown) => {
    status = 'failed'
    bootError = error instanceof Error ? error.message : String(error)
    options.log(`boot failed: ${bootError}`)
  })

  return {
    health,
    booted,
    async stop() {
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
  secrets: () => Record<string, string>,
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
  })
}

const runtimeVariables = (config: DaemonConfig, options: DaemonOptions, secrets: Record<string, string>) => ({
  ...runtimeEnvironment(config, options.paths, secrets),
  ...proxyEnvironment(options.egress),
})

/** A prompt given with the session is sent once; without one the conversation may still be opened. */
async function firstPrompt(config: DaemonConfig, send: (text: string | null) => Promise<void>): Promise<void> {
  if (config.openSessionAtBoot) await send(config.initialPrompt)
}

/** Files and settings are read when the runtime starts, so a fresh tree needs a fresh runtime. */
async function refresh(tree: Workspace, runtime: AgentRuntime): Promise<RefreshOutcome> {
  const outcome = await tree.refresh()
  if (outcome.kind !== 'updated') return outcome
  await tree.copyConfigDir()
  await runtime.restart()
  return outcome
}

/** Two at once are one: the second caller gets what the first one started. */
function singleFlight<T>(act: () => Promise<T>): () => Promise<T> {
  let flight: Promise<T> | null = null
  return () =>
    (flight ??= act().finally(() => {
      flight = null
    }))
}

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
      } finally {
        entry.ms = at() - entry.at_ms
      }
    },
  }
}
