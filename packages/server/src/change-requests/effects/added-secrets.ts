/** Finds secret values that a change request would bring to its base. Pushes with secrets are refused; this covers commits that arrived another way. */
import type { Repository, Sha } from '@svc/git'
import { boundSession, type Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { findAddedSecrets, findingLabel } from '../../secrets/find-added.ts'
import { listSecrets } from '../../secrets/store.ts'
import { commitPair, type PairDeps } from '../preview/commit-pair.ts'
import type { ChangeRequestRow } from '../store.ts'

/** A reader needs to know that there are some, and where to start. */
const findingsMax = 20
const searchMs = 5_000

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
  return found.kind === 'found' ? found.findings.map(findingLabel) : []
}

/** Runs after the change request was opened, so a failure here is logged and reports no findings. */
export async function verificationFailures(
  deps: PairDeps & Pick<Deps, 'log'>,
  input: { project: ProjectRow; caller: Pick<Caller, 'actor'>; cr: ChangeRequestRow; signal: AbortSignal },
): Promise<string[]> {
  const signal = AbortSignal.any([input.signal, AbortSignal.timeout(searchMs)])
  try {
    // An external repository may have to be fetched first: skip that for a project without secrets.
    if ((await listSecrets(deps.db, input.project.project_id)).length === 0) return []
    const pair = await commitPair(deps, { ...input, signal })
    const found = await addedSecrets(deps, { ...pair, project: input.project, caller: input.caller, signal })
    return found.map((finding) => `${finding}: anyone who can read the repository can read it there.`)
  } catch (error) {
    deps.log.debug({ err: error, cr_id: input.cr.cr_id }, 'failed to search a change request for secrets')
    return []
  }
}
