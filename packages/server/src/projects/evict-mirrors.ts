import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { evictMirror, useOfMirror } from '@svc/git'
import type { Deps } from '../deps.ts'
import { openRepositoryQuietly } from './repository.ts'
import { getProject } from './store.ts'

/** Longer than any request, session clone or merge: what is at work in a mirror has marked it as used since then. */
const restMs = 3_600_000

/** A job: when the mirrors are larger than they may be together, those that were used longest ago are emptied. They are fetched again when they are needed. */
export async function evictMirrors(
  deps: Pick<Deps, 'db' | 'config' | 'keyring' | 'log' | 'now'>,
  signal: AbortSignal,
): Promise<void> {
  const folder = join(deps.config.dataDir, 'mirrors')
  const found: { projectId: string; usedAt: Date; bytes: number }[] = []
  for (const name of await readdir(folder).catch(whenAbsent)) {
    const projectId = /^([0-9a-f-]{36})\.git$/.exec(name)?.[1]
    const use = projectId === undefined ? null : await useOfMirror(join(folder, name))
    if (projectId !== undefined && use !== null) found.push({ projectId, ...use })
  }
  let over = found.reduce((sum, { bytes }) => sum + bytes, 0) - deps.config.mirrorBytesMax
  const unusedSince = new Date(deps.now().getTime() - restMs)
  for (const { projectId, usedAt, bytes } of found.toSorted((a, b) => +a.usedAt - +b.usedAt)) {
    if (over <= 0 || signal.aborted || usedAt > unusedSince) return
    const project = await getProject(deps.db, projectId)
    if (project === null || project.managed) continue
    const outcome = await evictMirror(await openRepositoryQuietly(deps, project), unusedSince, {
      signal,
      timeoutMs: 15_000,
    })
    deps.log.info({ project_id: projectId, bytes, ...outcome }, 'a mirror that was not used for long was looked at')
    if (outcome.kind === 'evicted') over -= bytes
  }
}

/** Before the first external project there is no folder. */
function whenAbsent(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
