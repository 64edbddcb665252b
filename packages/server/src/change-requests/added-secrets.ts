/** Values of secrets that a change request would bring to its base. A push of one is refused; this is about what came another way. */
import type { Repository, Sha } from '@svc/git'
import { boundSession, type Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { findAddedSecrets, findingWords } from '../secrets/find-added.ts'
import { listSecrets } from '../secrets/store.ts'
import { commitPair, type PairDeps } from './commit-pair.ts'
import type { ChangeRequestRow } from './store.ts'

/** A reader needs to know that there are some, and where to begin. */
const findingsMax = 20
const lookMs = 5_000

export async function addedSecrets(
  deps: PairDeps,
  input: {
    project: ProjectRow
    caller: Pick<Caller, 'actor'>
    repository: Repository
    baseSha: Sha
    headSha: Sha
    signal: AbortSignal
  },
): Promise<string[]> {
  const { project, caller, repository, baseSha, headSha, signal } = input
  const updates = [{ ref: 'refs/heads/head', oldSha: baseSha, newSha: headSha }]
  const found = await findAddedSecrets(
    deps,
    {
      project,
      sessionId: boundSession(caller.actor),
      repository,
      updates,
      known: async () => [baseSha],
      max: findingsMax,
    },
    { signal },
  )
  return found.kind === 'found' ? found.findings.map(findingWords) : []
}

/** What is doubtful about one that was just opened. It is open whatever is found, so a look that fails finds nothing. */
export async function doubtsAbout(
  deps: PairDeps & Pick<Deps, 'log'>,
  input: { project: ProjectRow; caller: Pick<Caller, 'actor'>; cr: ChangeRequestRow; signal: AbortSignal },
): Promise<string[]> {
  const signal = AbortSignal.any([input.signal, AbortSignal.timeout(lookMs)])
  try {
    // Of an external repository the commits may have to be fetched first: not for nothing.
    if ((await listSecrets(deps.db, input.project.project_id)).length === 0) return []
    const pair = await commitPair(deps, { ...input, signal })
    const found = await addedSecrets(deps, { ...pair, project: input.project, caller: input.caller, signal })
    return found.map((words) => `${words}: whoever can read the repository will read it there.`)
  } catch (error) {
    deps.log.debug({ err: error, cr_id: input.cr.cr_id }, 'a change request was not looked through for secrets')
    return []
  }
}
