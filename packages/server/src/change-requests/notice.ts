/** Notices what moved below open change requests, whoever moved it, and which of them stopped being clean by it. */
import { previewMerge, readTips, type Repository } from '@svc/git'
import type { Deps } from '../deps.ts'
import { bring } from '../projects/bring.ts'
import { noticeDefaultBranch } from '../projects/default-branch.ts'
import { takeLook } from '../projects/looks.ts'
import { openRepository } from '../projects/repository.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { type Checked, recordCheck, uncheckedOf } from './check-store.ts'
import { saveTips } from './refresh-tips.ts'
import { type ChangeRequestRow, listChangeRequests, lockChangeRequest } from './store.ts'
import { tellChangeRequest } from './tell.ts'

type NoticeDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'now' | 'log'>

/** A managed repository is read from disk; one elsewhere costs a request, and its host can call instead. */
const every = { managedSeconds: 5, externalSeconds: 60 }
/** Older ones are still refreshed by whoever reads them. */
const watchedMax = 200
const atOnce = 4

/** The job. A host that is away stops nobody else's turn. */
export async function noticeChangeRequests(deps: NoticeDeps, signal: AbortSignal): Promise<void> {
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (!signal.aborted) {
        const look = await takeLook(deps.db, every)
        if (look === null) return
        const project = await getProject(deps.db, look.project_id)
        if (project === null) continue
        try {
          if (look.wanted) await noticeDefaultBranch(deps, project, signal)
          await noticeIn(deps, project, signal)
        } catch (error) {
          if (!signal.aborted)
            deps.log.debug({ err: error, ...look }, 'change requests were not looked at; they are looked at again')
        }
      }
    }),
  )
}

async function noticeIn(deps: NoticeDeps, project: ProjectRow, signal: AbortSignal): Promise<void> {
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
  deps: NoticeDeps,
  repository: Repository,
  { cr, base, head }: { cr: ChangeRequestRow; base: string; head: string },
  signal: AbortSignal,
): Promise<void> {
  const brought = await bring(repository, [base, head], signal)
  if (brought.kind !== 'present') return
  const preview = await previewMerge(repository, { baseSha: base, headSha: head }, { signal })
  await deps.db.transaction().execute(async (trx) => {
    const now = await lockChangeRequest(trx, cr.project_id, cr.cr_id)
    // Moved or ended meanwhile: the next look knows more.
    if (now.status !== 'open' || now.base_commit_sha !== base || now.head_commit_sha !== head) return
    const checked: Checked = { cr_id: cr.cr_id, base_sha: base, head_sha: head, can_merge: preview.can_merge }
    const couldBefore = await recordCheck(trx, checked)
    if (couldBefore === preview.can_merge) return
    if (preview.can_merge) await tellChangeRequest(trx, 'change_request.clean', now, null)
    else await tellChangeRequest(trx, 'change_request.conflicted', now, null, { conflicts: preview.conflicts })
  })
}
