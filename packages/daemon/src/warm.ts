/**
 * A sandbox in the pool: filled and primed before there is a session, then claimed by one. Ids and values are allotted
 * beforehand, so what the runtime was started with is already the session's; only what its user chose comes later.
 */
import { type AgentRuntime } from './agent-runtime.ts'
import { type DaemonConfig, readConfig } from './config.ts'
import type { Conversation } from './conversation.ts'
import { ControlError, runtimeBooting } from './reply.ts'
import type { SessionEnv } from './session-env.ts'
import type { Workspace } from './workspace.ts'

export interface WarmSandbox {
  /** Brings the work tree to that commit of the default branch; the first time is the clone. */
  follow(commit: string, credential: string): Promise<void>
  /** Answers the runtime's session, when the first prompt opened one. */
  claim(env: Record<string, string>, commit: string): Promise<string | null>
}

interface Parts {
  config: DaemonConfig
  tree: Workspace
  runtime: AgentRuntime
  conversation: Conversation
  sessionEnv: SessionEnv
  /** Called once the session has it; answers when the first prompt is on its way. */
  claimed: () => Promise<void>
}

export function createWarmSandbox(parts: Parts): WarmSandbox & {
  /** Resolves at the end of the first `follow`. */
  filled: Promise<void>
  prime(): Promise<void>
} {
  const { config, tree, runtime, conversation, sessionEnv } = parts
  const filled = Promise.withResolvers<void>()
  let commitNow: string | null = null
  let primed = false
  let turn: Promise<unknown> = Promise.resolve()

  /** One after the other: a claim must not meet a checkout half-way. */
  function inTurn<T>(act: () => Promise<T>): Promise<T> {
    const mine = turn.then(act)
    turn = mine.catch(() => {})
    return mine
  }

  async function claim(env: Record<string, string>, commit: string): Promise<string | null> {
    if (!primed || runtime.state !== 'ready') throw runtimeBooting()
    const next = readConfig({ ...config.platform, ...env })
    if ('problems' in next) throw new ControlError(400, 'invalid', next.problems.join(' '))
    const { sessionId, token, generation } = next
    if (sessionId !== config.sessionId || token !== config.token || generation !== config.generation)
      throw new ControlError(409, 'conflict', 'This sandbox is kept for another session.')
    const atLaunch = config.platform
    // In place: the work tree, and the runtime when it is started again, read the same object.
    Object.assign(config, next, { secrets: config.secrets, warm: true })
    await tree.claim(commit === commitNow ? null : commit)
    sessionEnv.setPlatform(atLaunch, config.platform)
    conversation.setAgent(config.agentName)
    await parts.claimed()
    return conversation.runtimeSessionId
  }

  return {
    filled: filled.promise,
    async prime() {
      // The gateway answers a rehearsal by itself. A runtime of the project's own may ask a model that costs money.
      await (config.runtimeCommand === null ? conversation.rehearse() : conversation.warm())
      primed = true
    },
    follow: (commit, credential) =>
      inTurn(async () => {
        if (commit === commitNow) return
        commitNow = null
        await tree.follow(commit, credential)
        commitNow = commit
        filled.resolve()
      }),
    claim: (env, commit) => inTurn(() => claim(env, commit)),
  }
}
