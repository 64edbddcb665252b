import { ServiceError } from '@svc/contract'
import { modelInFrontMatter } from '@svc/contract/front-matter'
import { readFileAt, type Repository } from '@svc/git'

/** Agents the runtime brings along. */
const builtIn = new Set(['build', 'plan'])

const agentFileBytesMax = 256 * 1024

/** Refuses an agent that neither the runtime nor the default branch, at `sha`, knows. Answers with the model that its file chooses. */
export async function requireAgent(
  repository: Repository,
  input: { sha: string; configDir: string; agentName: string },
): Promise<{ model: string | null }> {
  const path = `${input.configDir}/agents/${input.agentName}.md`
  const file = await readFileAt(repository, { sha: input.sha, path, bytesMax: agentFileBytesMax })
  if (file.kind === 'file') return { model: modelInFrontMatter(Buffer.from(file.content).toString('utf8')) }
  // A project may write a file of its own for one of these.
  if (builtIn.has(input.agentName)) return { model: null }
  throw new ServiceError(
    'agent_not_found',
    `There is no agent ${JSON.stringify(input.agentName)}: ${path} is not on the default branch.`,
    {
      hint: 'Agents reach sessions once a change request that adds their file is merged. Built in are build and plan.',
      detail: { issues: [{ path: 'agent_name', message: 'is not known' }] },
    },
  )
}
