/** Finds secrets in the added text of commits. A push with one is refused, a change request shows it. */
import { type RefUpdate, scanAddedText, type Repository, type Sha } from '@svc/git'
import type { ProjectRow } from '../projects/store.ts'
import { openSecrets, type SecretDeps } from './change.ts'
import { givenSecrets } from './for-sandbox.ts'
import { formBytesMax, formsOf, type SecretForm } from './forms.ts'

export interface Finding {
  path: string
  line: number
  name: string
  as: string
}

export type Findings = { kind: 'found'; findings: Finding[] } | { kind: 'too-large' }

/** Never contains the value. */
export function findingLabel({ path, line, name, as }: Finding): string {
  return `${path}:${line} adds the value of the secret ${name}${as === 'it is' ? '' : ` as ${as}`}`
}

/** Returns at most `max` findings. */
export async function findAddedSecrets(
  deps: SecretDeps,
  input: {
    project: ProjectRow
    /** A push by a session's token is searched only for what its sandboxes received, so that a refusal reveals nothing new to its agent. */
    sessionId: string | null
    repository: Repository
    updates: RefUpdate[]
    known: () => Promise<Iterable<Sha>>
    max: number
  },
  options: { signal?: AbortSignal } = {},
): Promise<Findings> {
  const { project, sessionId } = input
  const secrets =
    sessionId === null ? Object.entries(await openSecrets(deps, project)) : await givenSecrets(deps, project, sessionId)
  const forms = secrets.flatMap(([name, value]) => formsOf(name, value))
  if (forms.length === 0) return { kind: 'found', findings: [] }
  const found = new Map<string, Finding>()
  const scan = { updates: input.updates, known: await input.known(), overlap: formBytesMax }
  const outcome = await scanAddedText(
    input.repository,
    scan,
    ({ bytes, placeOf }) => {
      for (const { offset, form } of placesOf(bytes, forms, input.max)) {
        const finding = { ...placeOf(offset), name: form.name, as: form.as }
        // A second find in a line is another encoding, or the overlap of two blocks.
        const key = `${finding.path}:${finding.line} ${finding.name}`
        if (found.size < input.max && !found.has(key)) found.set(key, finding)
      }
      return found.size >= input.max
    },
    options,
  )
  return outcome === 'too-large' ? { kind: 'too-large' } : { kind: 'found', findings: [...found.values()] }
}

function placesOf(bytes: Buffer, forms: SecretForm[], max: number): { offset: number; form: SecretForm }[] {
  const places: { offset: number; form: SecretForm }[] = []
  for (const form of forms) {
    let seen = 0
    for (let at = bytes.indexOf(form.bytes); at !== -1 && seen < max; at = bytes.indexOf(form.bytes, at + 1), seen++)
      places.push({ offset: at, form })
  }
  return places.sort((one, other) => one.offset - other.offset)
}
