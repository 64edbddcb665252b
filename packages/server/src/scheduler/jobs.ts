import { detectChangeRequestMoves } from '../change-requests/preview/detect.ts'
import { followHostLandings } from '../change-requests/merge/follow-host-landings.ts'
import { reconcileMerges } from '../change-requests/merge/reconcile.ts'
import { postChangeRequestUpdates } from '../channels/updates/cards.ts'
import { deliverMessages } from '../channels/outbox/deliver.ts'
import { deleteOldChannelRows } from '../channels/forget.ts'
import { postSessionUpdates } from '../channels/updates/post-session.ts'
import { processEvents } from '../channels/ingress/process-events.ts'
import { applyAppManifests } from '../apps/apply-manifest.ts'
import { forgetOldRuns } from '../checks/store.ts'
import { detectChecks } from '../checks/trees.ts'
import { checkDueConnectors } from '../connectors/check.ts'
import { reconcileMovedConnectors } from '../connectors/reconcile.ts'
import { deleteOldApprovals } from '../connectors/calls/approval-store.ts'
import type { Deps } from '../deps.ts'
import { forgetOldEvents } from '../events/store.ts'
import { deleteOldKeys } from '../http/idempotency-store.ts'
import { reconcileOrphaned } from '../models/usage/budget.ts'
import { upstreamsOf } from '../models/upstreams/upstreams.ts'
import { evictMirrors } from '../projects/mirrors/evict-mirrors.ts'
import { detectDefaultBranches } from '../projects/default-branch.ts'
import { sweepRepositories } from '../projects/sweep-repositories.ts'
import { forgetGivenSecrets } from '../secrets/given-store.ts'
import { endDeletedProjects } from '../sessions/delete-project.ts'
import { EnvPusher } from '../sessions/lifecycle/env-push.ts'
import { RefreshTender } from '../sessions/refresh/tend.ts'
import { pruneWip } from '../sessions/unfinished-work/prune.ts'
import {
  archiveOldSandboxes,
  deliverWaitingPrompts,
  reconcileSessions,
  sweepIdleSessions,
  tendQuestions,
} from '../sessions/jobs.ts'
import { reclaimStorage } from '../storage/reclaim.ts'
import { fireDueTriggers } from '../triggers/fire-due.ts'
import { fireOrphanedSlots } from '../triggers/fire.ts'
import { reconcileTriggers } from '../triggers/reconcile.ts'
import { forgetOldSlots } from '../triggers/store.ts'
import { WebhookSender } from '../webhooks/sender.ts'
import { forgetOldDeliveries } from '../webhooks/store.ts'
import type { Job } from './loop.ts'

/** Every background job with its interval. Each may run twice and may be killed half-way. */
export function jobs(deps: Deps): Job[] {
  const env = new EnvPusher(deps)
  const refreshes = new RefreshTender(deps)
  const webhooks = new WebhookSender(deps)
  return [
    { name: 'reconcile sessions', everyMs: 5_000, run: () => reconcileSessions(deps) },
    { name: 'maintain warm sandboxes', everyMs: 1_000, run: (signal) => deps.warm.tend(signal) },
    { name: 'deliver prompts', everyMs: 2_000, run: () => deliverWaitingPrompts(deps) },
    { name: 'reconcile questions', everyMs: 2_000, run: () => tendQuestions(deps) },
    { name: 'push changed secrets', everyMs: 2_000, run: () => env.push() },
    {
      name: 'refresh sessions',
      everyMs: 2_000,
      run: (signal) => refreshes.tend(signal),
      ended: () => refreshes.ended(),
    },
    { name: 'sweep idle sessions', everyMs: 30_000, run: () => sweepIdleSessions(deps) },
    { name: 'archive sandboxes', everyMs: 3_600_000, run: () => archiveOldSandboxes(deps) },
    { name: 'reconcile merges', everyMs: 15_000, run: (signal) => reconcileMerges(deps, signal) },
    { name: 'follow landings on hosts', everyMs: 5_000, run: (signal) => followHostLandings(deps, signal) },
    { name: 'evict mirrors', everyMs: 600_000, run: (signal) => evictMirrors(deps, signal) },
    { name: 'detect default branches', everyMs: 1_000, run: (signal) => detectDefaultBranches(deps, signal) },
    { name: 'detect change request moves', everyMs: 1_000, run: (signal) => detectChangeRequestMoves(deps, signal) },
    { name: 'reconcile triggers', everyMs: 1_000, run: () => reconcileTriggers(deps) },
    { name: 'fire due triggers', everyMs: 1_000, run: (signal) => fireDueTriggers(deps, signal) },
    { name: 'fire orphaned slots', everyMs: 5_000, run: (signal) => fireOrphanedSlots(deps, signal) },
    { name: 'delete old slots', everyMs: 3_600_000, run: () => forgetOldSlots(deps.db) },
    { name: 'send webhooks', everyMs: 500, run: (signal) => webhooks.tend(signal), ended: () => webhooks.ended() },
    { name: 'delete old events', everyMs: 600_000, run: () => forgetOldEvents(deps.db) },
    { name: 'process chat events', everyMs: 500, run: (signal) => processEvents(deps, signal) },
    { name: 'post session updates', everyMs: 1_000, run: () => postSessionUpdates(deps) },
    { name: 'post change request updates', everyMs: 1_000, run: (signal) => postChangeRequestUpdates(deps, signal) },
    { name: 'deliver chat messages', everyMs: 500, run: (signal) => deliverMessages(deps, signal) },
    { name: 'delete old chat', everyMs: 3_600_000, run: () => deleteOldChannelRows(deps) },
    { name: 'delete old deliveries', everyMs: 600_000, run: () => forgetOldDeliveries(deps.db) },
    { name: 'apply app manifests', everyMs: 1_000, run: (signal) => applyAppManifests(deps, signal) },
    { name: 'reconcile apps', everyMs: 1_000, run: () => deps.apps.reconcile() },
    { name: 'detect checks', everyMs: 1_000, run: (signal) => detectChecks(deps, signal) },
    { name: 'reconcile checks', everyMs: 1_000, run: () => deps.checks.reconcile() },
    { name: 'delete old checks', everyMs: 3_600_000, run: () => forgetOldRuns(deps.db) },
    { name: 'reconcile connectors', everyMs: 1_000, run: () => reconcileMovedConnectors(deps) },
    { name: 'check connectors', everyMs: 2_000, run: (signal) => checkDueConnectors(deps, signal) },
    { name: 'delete old approvals', everyMs: 3_600_000, run: () => deleteOldApprovals(deps.db) },
    { name: 'read model upstreams', everyMs: 1_000, run: async () => void upstreamsOf(deps.config).all(deps) },
    {
      name: 'reconcile model calls',
      everyMs: 30_000,
      run: () => reconcileOrphaned(deps, deps.heartbeat.deadAfterSeconds()),
    },
    { name: 'end deleted projects', everyMs: 5_000, run: (signal) => endDeletedProjects(deps, signal) },
    { name: 'sweep repositories', everyMs: 600_000, run: (signal) => sweepRepositories(deps, signal) },
    { name: 'reclaim storage', everyMs: 600_000, run: (signal) => reclaimStorage(deps, signal) },
    { name: 'prune unfinished work', everyMs: 600_000, run: (signal) => pruneWip(deps, signal) },
    { name: 'delete given secrets', everyMs: 3_600_000, run: () => forgetGivenSecrets(deps.db) },
    { name: 'delete idempotency keys', everyMs: 3_600_000, run: () => deleteOldKeys(deps.db) },
  ]
}
