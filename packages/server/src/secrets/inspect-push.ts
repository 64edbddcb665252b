/** Refuses a push that adds the value of a secret, before any ref moves. */
import { type PushInspector, readTips, type Repository } from '@svc/git'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { findAddedSecrets, findingLabel } from './find-added.ts'

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
      return 'This push adds too much to search it for secret values. Push it in smaller parts.'
    const [first] = outcome.findings
    return first === undefined ? null : `${findingLabel(first)}. Remove it from every unpushed commit, then push again.`
  }
}
