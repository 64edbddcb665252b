/**
 * A warm sandbox in the pool: cloned and primed before a session claims it. The ids and tokens are allotted in
 * advance, so the runtime starts with the session's values; only the user's choices come with the claim.
 */
import { oneAtATime } from '../child.ts'
import { type AgentRuntime } from './agent-runtime.ts'
import { type DaemonConfig, readConfig } from '../config.ts'
import type { Conversation } from './conversation.ts'
import { ControlError, runtimeBooting } from '../http/reply.ts'
import type { SessionEnv } from './session-env.ts'
import type { Workspace } from '../workspace/workspace.ts'

export interface WarmSandbox {
  /** Moves the work tree to a commit of the default branch; the first call clones. */
  follow(commit: string, credential: string): Promise<void>
  /** Returns the runtime's session when the first prompt opened one. */
  claim(env: Record<string, string>, commit: string): Promise<string | null>
}

interface Parts {
  config: DaemonConfig
  tree: Workspace
  runtime: AgentRuntime
  conversation: Conversation
  sessionEnv: SessionEnv
  /** Called once a session has the sandbox; resolves when the first prompt is sent. */
  claimed: () => Promise<void>
}

export function createWarmSandbox(parts: Parts): WarmSandbox & {
  /** Resolves when the first `follow` ends. */
  filled: Promise<void>
  prime(): Promise<void>
} {
  const { config, tree, runtime, conversation, sessionEnv } = parts
  const filled = Promise.withResolvers<void>()
  let commitNow: string | null = null
  let primed = false

  // A claim must not run during a checkout.
  const inTurn = oneAtATime()

  async function claim(env: Record<string, string>, commit: string): Promise<string | null> {
    if (!primed || runtime.state !== 'ready') throw runtimeBooting()
    const next = readConfig({ ...config.platform, ...env })
    if ('problems' in next) throw new ControlError(400, 'invalid', next.problems.join(' '))
    const { sessionId, token, generation } = next
    if (sessionId !== config.sessionId || token !== config.token || generation !== config.generation)
      throw new ControlError(409, 'conflict', 'This sandbox is reserved for another session.')
    const atLaunch = config.platform
    // In place: the work tree and the next start of the runtime read the same object.
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
      // The gateway answers a rehearsal without a model. The project's own runtime may call a model that costs money.
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
