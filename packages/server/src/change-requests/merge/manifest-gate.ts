import { hasErrors, manifestBytesMax, manifestPath, parseManifest, projectSettings, ServiceError } from '@svc/contract'
import { readFileAt, type Repository } from '@svc/git'
import type { ProjectRow } from '../../projects/store.ts'

/** A head with a broken manifest may merge unless the project's setting forbids it. */
export async function refuseBrokenManifest(
  project: ProjectRow,
  repository: Repository,
  headSha: string,
  signal: AbortSignal,
): Promise<void> {
  if (projectSettings.parse(project.settings).manifest_gate === 'off') return
  const file = await readFileAt(
    repository,
    { sha: headSha, path: manifestPath, bytesMax: manifestBytesMax + 1 },
    { signal },
  )
  if (file.kind !== 'file') return
  const { issues } = parseManifest(Buffer.from(file.content).toString('utf8'))
  if (hasErrors(issues))
    throw new ServiceError('manifest_invalid', `${manifestPath} of the head is not valid.`, {
      hint: 'Correct it on the head branch, or let a user set manifest_gate to off.',
      detail: { issues },
    })
}
