/** A push that adds the value of a secret is refused while it waits, before any ref has moved. */
import { type PushInspector, readTips, type Repository } from '@svc/git'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { findAddedSecrets, findingWords } from './find-added.ts'

export function inspectPushes(
  deps: Pick<Deps, 'db' | 'keyring' | 'redaction'>,
  project: ProjectRow,
  repository: Repository,
  sessionId: string | null,
): PushInspector {
  return async ({ repo, updates }) => {
    const known = async () => {
      const tips = await readTips({ dir: repository.dir, remote: null }, 'all', {})
      return tips.kind === 'tips' ? tips.tips.values() : []
    }
    const outcome = await findAddedSecrets(deps, { project, sessionId, repository: repo, updates, known, max: 1 })
    if (outcome.kind === 'too-large')
      return 'This push adds more than can be searched for the values of secrets. Push it in smaller parts.'
    const [first] = outcome.findings
    return first === undefined
      ? null
      : `${findingWords(first)}. Take it out of every commit that is not pushed yet, and push again.`
  }
}
