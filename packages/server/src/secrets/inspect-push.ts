/** A push that adds the value of a secret is refused while it waits, before any ref has moved. */
import { type PushInspector, readTips, type Repository, scanAddedText } from '@svc/git'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { openSecrets } from './change.ts'
import { formBytesMax, formsOf, type SecretForm } from './forms.ts'

export function inspectPushes(
  deps: Pick<Deps, 'db' | 'keyring' | 'redaction'>,
  project: ProjectRow,
  repository: Repository,
): PushInspector {
  return async ({ repo, updates }) => {
    const secrets = await openSecrets(deps, project)
    const forms = Object.entries(secrets).flatMap(([name, value]) => formsOf(name, value))
    if (forms.length === 0) return null
    const tips = await readTips({ dir: repository.dir, remote: null }, 'all', {})
    const known = tips.kind === 'tips' ? tips.tips.values() : []
    let found: string | null = null
    const outcome = await scanAddedText(repo, { updates, known, overlap: formBytesMax }, ({ bytes, placeOf }) => {
      const hit = firstOf(bytes, forms)
      if (hit === null) return false
      const { path, line } = placeOf(hit.offset)
      found = `${path}:${line} adds the value of the secret ${hit.form.name}${hit.form.as === 'it is' ? '' : ` as ${hit.form.as}`}. Take it out of every commit that is not pushed yet, and push again.`
      return true
    })
    if (outcome === 'too-large')
      return 'This push adds more than can be searched for the values of secrets. Push it in smaller parts.'
    return found
  }
}

export function firstOf(bytes: Buffer, forms: SecretForm[]): { offset: number; form: SecretForm } | null {
  let first: { offset: number; form: SecretForm } | null = null
  for (const form of forms) {
    const offset = bytes.indexOf(form.bytes)
    if (offset !== -1 && (first === null || offset < first.offset)) first = { offset, form }
  }
  return first
}
