import { findCollisions, type Repository } from '@svc/git'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import { unreachable } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { withinLimits } from '../../projects/within-limits.ts'
import { type RefreshDeps, refreshTips } from '../open/refresh-tips.ts'
import { type ChangeRequestRow, openOnBase } from '../store.ts'

export interface Collisions {
  collisions: { number: number; files: string[] }[]
  collisions_truncated: boolean
}

/** Merges to compute per request. Longer lists do not get read. */
const othersMax = 50

/** Other open change requests on the same base that merge now but would conflict once this one has landed. */
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
  const fetched = await fetchForRequest(
    repository,
    others.map(({ head }) => head),
    signal,
  )
  if (fetched.kind === 'unreachable') throw unreachable(fetched.reason)
  // A change request whose branch is gone cannot merge, so nothing collides with it.
  const missing = fetched.kind === 'missing' ? fetched.shas : []
  const present = others.filter(({ head }) => !missing.includes(head))
  const heads = present.map(({ head }) => head)
  const files = await withinLimits(findCollisions(repository, { baseSha, headSha, others: heads }, { signal }))
  return {
    collisions: present.flatMap(({ number, head }) => {
      const conflicting = files.get(head)
      return conflicting === undefined ? [] : [{ number, files: conflicting }]
    }),
    collisions_truncated: found.length > othersMax,
  }
}
