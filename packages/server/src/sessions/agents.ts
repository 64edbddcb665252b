import { ServiceError } from '@svc/contract'
import { modelInFrontMatter } from '@svc/contract/manifest/front-matter'
import { listTree, readFileAt, type Repository } from '@svc/git'
import { notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { readManifestAt } from '../projects/manifest.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject } from '../projects/store.ts'
import { baseTip } from './create/branch.ts'
import type { SessionWithSandbox } from './store.ts'

export const defaultAgent = 'build'

const builtIn = new Set([defaultAgent, 'plan'])

const agentFileBytesMax = 256 * 1024
const namedMax = 20

/** `null` and "default" are the default agent. */
export function agentNamed(name: string | null | undefined): string {
  return name == null || name === 'default' ? defaultAgent : name
}

/** Throws unless the runtime or the default branch at `sha` has the agent. Returns the model of its file. */
export async function requireAgent(
  repository: Repository,
  input: { sha: string; configDir: string; agentName: string },
): Promise<{ model: string | null }> {
  const known = await knownAgent(repository, input)
  if (known !== null) return known
  const { agentName, configDir } = input
  const agents = await agentsAt(repository, input)
  throw new ServiceError(
    'agent_not_found',
    `There is no agent ${JSON.stringify(agentName)}: ${configDir}/agents/${agentName}.md is not on the default branch.`,
    {
      hint: `Merge a change request that adds its file, or choose another agent: ${agents.join(', ')}.`,
      detail: { agents, issues: [{ path: 'agent_name', message: 'is not known' }] },
    },
  )
}

/** Throws when the agent that a prompt chooses is not on the default branch. */
export async function requireAgentOf(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>,
  session: Pick<SessionWithSandbox, 'project_id'>,
  agentName: string,
): Promise<void> {
  if (builtIn.has(agentName)) return
  const project = await getProject(deps.db, session.project_id)
  if (project === null) throw notFound('session')
  const repository = await openRepository(deps, project)
  const sha = await baseTip(repository, project.default_branch)
  const { runtime } = await readManifestAt(repository, sha)
  await requireAgent(repository, { sha, configDir: runtime.config_dir, agentName })
}

/**
 * Throws when the agent of a session is no longer on the default branch, and lists the available agents. When the
 * repository cannot be read, the start continues and fails with that reason.
 */
export async function requireAgentToStart(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>,
  session: Pick<SessionWithSandbox, 'session_id' | 'project_id'>,
  agentName: string,
): Promise<void> {
  if (builtIn.has(agentName)) return
  const agents = await agentsInstead(deps, session.project_id, agentName)
  if (agents === null) return
  throw new ServiceError(
    'agent_not_found',
    `The session was not started: its agent ${JSON.stringify(agentName)} is not on the default branch.`,
    {
      hint: `Restart it with another agent (${agents.join(', ')}): svc sessions restart ${session.session_id.slice(0, 8)} --agent ${defaultAgent}`,
      detail: { agents, issues: [{ path: 'agent', message: 'is not known' }] },
    },
  )
}

/** The agents of a project that lacks this one. Null when it has the agent, or cannot be read. */
async function agentsInstead(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>,
  projectId: string,
  agentName: string,
): Promise<string[] | null> {
  const project = await getProject(deps.db, projectId)
  if (project === null) return null
  try {
    const repository = await openRepository(deps, project)
    const sha = await baseTip(repository, project.default_branch)
    const { runtime } = await readManifestAt(repository, sha)
    const at = { sha, configDir: runtime.config_dir }
    return (await knownAgent(repository, { ...at, agentName })) === null ? await agentsAt(repository, at) : null
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    deps.log.debug({ err: error, project_id: projectId }, 'checking the agent of a session failed')
    return null
  }
}

/** The model of the agent's file; null when neither the runtime nor the repository has the agent. */
async function knownAgent(
  repository: Repository,
  { sha, configDir, agentName }: { sha: string; configDir: string; agentName: string },
): Promise<{ model: string | null } | null> {
  const path = `${configDir}/agents/${agentName}.md`
  const file = await readFileAt(repository, { sha, path, bytesMax: agentFileBytesMax })
  if (file.kind === 'file') return { model: modelInFrontMatter(Buffer.from(file.content).toString('utf8')) }
  // A file of the project overrides a built-in agent.
  return builtIn.has(agentName) ? { model: null } : null
}

async function agentsAt(repository: Repository, at: { sha: string; configDir: string }): Promise<string[]> {
  const entries = (await listTree(repository, { sha: at.sha, path: `${at.configDir}/agents` })) ?? []
  const names = entries.flatMap(({ name, type }) =>
    type === 'file' && name.endsWith('.md') && !name.includes('\n') ? [name.slice(0, -'.md'.length)] : [],
  )
  return [...new Set([...builtIn, ...names])].slice(0, namedMax)
}
