/** Applies outside changes to a running sandbox: the session branch and the default branch's configuration. */
import type { RefreshBody } from '@svc/contract/daemon/control'

import { oneAtATime } from '../child.ts'
import type { AgentRuntime } from './agent-runtime.ts'
import { type DaemonConfig, isOutsideRepository } from '../config.ts'
import type { Conversation } from './conversation.ts'
import { ControlError } from '../http/reply.ts'
import type { RefreshOutcome, Workspace } from '../workspace/workspace.ts'

export type Refresh = (body: RefreshBody) => Promise<RefreshOutcome>

export function createRefresh(parts: {
  config: DaemonConfig
  tree: Workspace
  runtime: AgentRuntime
  conversation: Conversation
}): Refresh {
  const { config, tree, runtime, conversation } = parts
  // Two refreshes at once would restart the runtime under each other.
  const serially = oneAtATime()

  async function refresh({ config_dir: configDir }: RefreshBody): Promise<RefreshOutcome> {
    const outcome = await tree.refresh()
    if (outcome.kind === 'failed') return outcome
    // In place: the code that starts the runtime reads the same object.
    if (configDir !== undefined) {
      config.configDir = configDir
      config.platform['SVC_CONFIG_DIR'] = configDir
    }
    // The configuration does not come from the work tree, so it is updated even when the branch cannot be.
    await tree.copyConfigDir()
    // The runtime reads files and settings at start. Its conversations are in its home and survive.
    await runtime.restart()
    // The agent's file may have changed or been deleted.
    conversation.setAgent(config.agentName)
    return outcome
  }

  return (body) => {
    if (body.config_dir !== undefined && isOutsideRepository(body.config_dir))
      throw new ControlError(400, 'invalid', '"config_dir" must be a folder in the repository.')
    return serially(() => runtime.whileInUse(() => refresh(body)))
  }
}
