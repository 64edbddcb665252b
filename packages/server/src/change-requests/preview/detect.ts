/** Detects moved branches of open change requests, and which of them stopped being clean. */
import { previewMerge, readTips, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import { detectDefaultBranch } from '../../projects/default-branch.ts'
import { takePoll } from '../../projects/poll-store.ts'
import { openRepository } from '../../projects/repository.ts'
import { getProject, type ProjectRow } from '../../projects/store.ts'
import { type Checked, recordCheck, uncheckedOf } from './check-store.ts'
import { saveTips } from '../open/refresh-tips.ts'
import { type ChangeRequestRow, listChangeRequests, lockChangeRequest } from '../store.ts'
import { recordChangeRequestEvent } from '../record-event.ts'

type DetectDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'now' | 'log'>

/** A managed repository is read from disk. Another one costs a request, but its host can call a webhook instead. */
const every = { managedSeconds: 5, externalSeconds: 60 }
/** Reading an older change request still refreshes it. */
const watchedMax = 200
const atOnce = 4

/** The job. A host that does not answer does not hold up the others. */
export async function detectChangeRequestMoves(deps: DetectDeps, signal: AbortSignal): Promise<void> {
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (!signal.aborted) {
        const poll = await takePoll(deps.db, every)
        if (poll === null) return
        const project = await getProject(deps.db, poll.project_id)
        if (project === null) continue
        try {
          if (poll.wanted) await detectDefaultBranch(deps, project, signal)
          await noticeIn(deps, project, signal)
        } catch (error) {
          if (!signal.aborted)
            deps.log.debug({ err: error, ...poll }, 'failed to check change requests for moves; retrying')
        }
      }
    }),
  )
}

async function noticeIn(deps: DetectDeps, project: ProjectRow, signal: AbortSignal): Promise<void> {
  const { rows } = await listChangeRequests(deps.db, project.project_id, { status: 'open', limit: watchedMax })
  if (rows.length === 0) return
  const repository = await openRepository(deps, project)
  const outcome = await readTips(repository, [...new Set(rows.flatMap((row) => [row.base_ref, row.head_ref]))], {
    signal,
  })
  if (outcome.kind === 'unreachable') return
  const pairs = rows.flatMap((cr) => {
    const [base, head] = [outcome.tips.get(cr.base_ref), outcome.tips.get(cr.head_ref)]
    return base === undefined || head === undefined ? [] : [{ cr, base, head }]
  })
  await saveTips(deps, project, pairs)
  for (const pair of await uncheckedOf(deps.db, pairs)) {
    if (signal.aborted) return
    await check(deps, repository, pair, signal)
  }
}

async function check(
  deps: DetectDeps,
  repository: Repository,
  { cr, base, head }: { cr: ChangeRequestRow; base: string; head: string },
  signal: AbortSignal,
): Promise<void> {
  const fetched = await fetchForRequest(repository, [base, head], signal)
  if (fetched.kind !== 'present') return
  const preview = await previewMerge(repository, { baseSha: base, headSha: head }, { signal })
  await deps.db.transaction().execute(async (trx) => {
    const now = await lockChangeRequest(trx, cr.project_id, cr.cr_id)
    // It moved or ended meanwhile, so leave it to the next poll.
    if (now.status !== 'open' || now.base_commit_sha !== base || now.head_commit_sha !== head) return
    const checked: Checked = { cr_id: cr.cr_id, base_sha: base, head_sha: head, can_merge: preview.can_merge }
    const couldBefore = await recordCheck(trx, checked)
    if (couldBefore === preview.can_merge) return
    if (preview.can_merge) await recordChangeRequestEvent(trx, 'change_request.clean', now, null)
    else await recordChangeRequestEvent(trx, 'change_request.conflicted', now, null, { conflicts: preview.conflicts })
  })
}
