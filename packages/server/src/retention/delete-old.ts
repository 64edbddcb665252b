/** Deletes what only looks back, once it is as old as the operator's settings say. */
import { type RetentionKind, retentionKinds } from '@svc/contract'
import { deleteOldDeploys } from '../apps/store.ts'
import { deleteOldAudit } from '../audit/retention-store.ts'
import { type DeleteMergedDeps, deleteMergedBranches } from '../change-requests/branches/delete-merged.ts'
import { deleteOldRuns } from '../checks/store.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { deleteOldEvents } from '../events/store.ts'
import type { Job } from '../scheduler/loop.ts'
import { deleteOldTranscripts } from '../sessions/conversation/retention-store.ts'
import { deleteOldSlots } from '../triggers/store.ts'
import { deleteOldDeliveries } from '../webhooks/store.ts'
import type { DeletionClock } from './deletion-clock.ts'

/** Each deletes a limited number per call, the oldest first. */
const deletions: Record<Exclude<RetentionKind, 'branches'>, (db: DbOrTransaction, days: number) => Promise<void>> = {
  events: deleteOldEvents,
  deliveries: deleteOldDeliveries,
  checks: deleteOldRuns,
  deploys: deleteOldDeploys,
  firings: deleteOldSlots,
  transcripts: deleteOldTranscripts,
  audit: deleteOldAudit,
}

export function retentionJobs(deps: DeleteMergedDeps, clock: DeletionClock): Job[] {
  return retentionKinds.flatMap((kind): Job[] => {
    const days = deps.config.keepDays[kind]
    if (days === null) return []
    const job = { name: `delete old ${kind}`, everyMs: 600_000 }
    // Branches are in the repository, at the home of the project.
    if (kind === 'branches')
      return [{ ...job, scope: 'home', run: clock.unlessWaiting((signal) => deleteMergedBranches(deps, days, signal)) }]
    return [{ ...job, scope: 'any server', run: clock.unlessWaiting(() => deletions[kind](deps.db, days)) }]
  })
}
