import { findCollisions, type Repository } from '@svc/git'
import { bring } from '../projects/bring.ts'
import { unreachable } from '../projects/repository.ts'
import type { ProjectRow } from '../projects/store.ts'
import { withinLimits } from '../projects/within-limits.ts'
import { type RefreshDeps, refreshTips } from './refresh-tips.ts'
import { type ChangeRequestRow, openOnBase } from './store.ts'

export interface Collisions {
  collisions: { number: number; files: string[] }[]
  collisions_truncated: boolean
}

/** What one look compares with: each is a merge, and nobody reads a longer list. */
const othersMax = 50

/** The other open ones of the same base that merge now and would conflict once this one has landed. A merged one has. */
export async function collisionsOf(
  deps: RefreshDeps,
  input: {
    project: ProjectRow
    cr: ChangeRequestRow
    pair: { repository: Repository; baseSha: string; headSha: string }
    signal: AbortSignal
  },
): Promise<Collisions> {
  const { project, cr, signal } = input
  const { repository, baseSha, headSha } = input.pair
  if (cr.status === 'merged') return { collisions: [], collisions_truncated: false }
  const found = await openOnBase(deps.db, { cr, limit: othersMax + 1 })
  const others = (await refreshTips(deps, project, found.slice(0, othersMax))).flatMap((row) =>
    row.status === 'open' && row.head_commit_sha !== null ? [{ number: row.number, head: row.head_commit_sha }] : [],
  )
  const brought = await bring(
    repository,
    others.map(({ head }) => head),
    signal,
  )
  if (brought.kind === 'unreachable') throw unreachable(brought.reason)
  // One whose branch is gone cannot be merged, so nothing collides with it.
  const gone = brought.kind === 'missing' ? brought.shas : []
  const there = others.filter(({ head }) => !gone.includes(head))
  const heads = there.map(({ head }) => head)
  const files = await withinLimits(findCollisions(repository, { baseSha, headSha, others: heads }, { signal }))
  return {
    collisions: there.flatMap(({ number, head }) => {
      const conflicting = files.get(head)
      return conflicting === undefined ? [] : [{ number, files: conflicting }]
    }),
    collisions_truncated: found.length > othersMax,
  }
}
