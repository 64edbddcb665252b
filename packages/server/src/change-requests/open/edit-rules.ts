/** Rules of the commits that the service makes from the text of a person. */
import { ServiceError } from '@svc/contract'
import { type Repository, zeroSha } from '@svc/git'
import { boundSession, type Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { findAddedSecrets, findingLabel } from '../../secrets/find-added.ts'

/** An agent commits on the branch of its session. This commit would carry the name of a person. */
export function refuseAgents({ actor }: Caller): void {
  if (boundSession(actor) === null) return
  throw new ServiceError('forbidden', 'An agent cannot edit files as a person.', {
    hint: 'Commit on the branch of the session, then open a change request: svc cr open.',
  })
}

interface Adding {
  project: ProjectRow
  repository: Repository
  base: string
  /** Null: the commit is the first one. */
  parent: string | null
  sha: string
  signal: AbortSignal
}

export async function refuseAddedSecrets(
  deps: Pick<Deps, 'db' | 'keyring' | 'redaction'>,
  { project, repository, base, parent, sha, signal }: Adding,
): Promise<void> {
  const updates = [{ ref: `refs/heads/${base}`, oldSha: parent ?? zeroSha(sha), newSha: sha }]
  const known = async () => (parent === null ? [] : [parent])
  const search = { project, sessionId: null, repository, updates, known, max: 1 }
  const outcome = await findAddedSecrets(deps, search, { signal })
  // As for a push: what cannot be searched is not accepted.
  if (outcome.kind === 'too-large')
    throw new ServiceError('unprocessable', 'This change is too large to search it for secret values.', {
      hint: 'Nothing was changed. Commit it with git, in smaller parts.',
    })
  const [first] = outcome.findings
  if (first !== undefined)
    throw new ServiceError('unprocessable', `${findingLabel(first)}.`, {
      hint: 'Remove the value, and read it from the environment instead.',
    })
}
