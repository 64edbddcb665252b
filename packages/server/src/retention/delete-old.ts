/** Deletes rows that only look back, once they are as old as the operator's settings say. */
import { type RetentionKind, retentionKinds } from '@svc/contract'
import { deleteOldDeploys } from '../apps/store.ts'
import { deleteOldAudit } from '../audit/retention-store.ts'
import { deleteOldRuns } from '../checks/store.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { deleteOldEvents } from '../events/store.ts'
import type { Job } from '../scheduler/loop.ts'
import { deleteOldTranscripts } from '../sessions/conversation/retention-store.ts'
import { deleteOldSlots } from '../triggers/store.ts'
import { deleteOldDeliveries } from '../webhooks/store.ts'

/** Each deletes a limited number per call, the oldest first. */
const deletions: Record<RetentionKind, (db: DbOrTransaction, days: number) => Promise<void>> = {
  events: deleteOldEvents,
  deliveries: deleteOldDeliveries,
  checks: deleteOldRuns,
  deploys: deleteOldDeploys,
  firings: deleteOldSlots,
  transcripts: deleteOldTranscripts,
  audit: deleteOldAudit,
}

export function retentionJobs({ db, config }: Pick<Deps, 'db' | 'config'>): Job[] {
  return retentionKinds.flatMap((kind) => {
    const days = config.keepDays[kind]
    if (days === null) return []
    return [
      { name: `delete old ${kind}`, scope: 'any server', everyMs: 600_000, run: () => deletions[kind](db, days) },
    ] satisfies Job[]
  })
}
