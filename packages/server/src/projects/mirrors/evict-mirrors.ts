import { evictMirror, useOfMirror } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { openRepositoryQuietly } from '../repository.ts'
import { getProjectOrDeleted } from '../store.ts'
import { storedRepositories } from './stored-repositories.ts'

/** Longer than any request, session clone or merge: anything that uses a mirror has marked it since. */
const restMs = 3_600_000

/** The job. When the mirrors exceed their total size, empties the least recently used. They are fetched again when needed. */
export async function evictMirrors(deps: Pick<Deps, 'db' | 'config' | 'keyring' | 'log' | 'now'>, signal: AbortSignal) {
  const found: { projectId: string; usedAt: Date; bytes: number }[] = []
  for (const { dir, projectId } of await storedRepositories(deps, 'mirrors')) {
    const use = projectId === null ? null : await useOfMirror(dir)
    if (projectId !== null && use !== null) found.push({ projectId, ...use })
  }
  let over = found.reduce((sum, { bytes }) => sum + bytes, 0) - deps.config.mirrorBytesMax
  const unusedSince = new Date(deps.now().getTime() - restMs)
  for (const { projectId, usedAt, bytes } of found.toSorted((a, b) => +a.usedAt - +b.usedAt)) {
    if (over <= 0 || signal.aborted || usedAt > unusedSince) return
    const project = await getProjectOrDeleted(deps.db, projectId)
    if (project === null || project.managed) continue
    const outcome = await evictMirror(await openRepositoryQuietly(deps, project), unusedSince, {
      signal,
      timeoutMs: 15_000,
    })
    deps.log.info({ project_id: projectId, bytes, ...outcome }, 'checked a mirror that was not used recently')
    if (outcome.kind === 'evicted') over -= bytes
  }
}
