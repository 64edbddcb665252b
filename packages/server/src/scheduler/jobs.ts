import { sql } from 'kysely'
import { noticeChangeRequests } from '../change-requests/notice.ts'
import { followHostLandings } from '../change-requests/follow-host-landings.ts'
import { settleMerges } from '../change-requests/settle.ts'
import { tellChangeRequests } from '../channels/cards.ts'
import { deliverMessages } from '../channels/deliver.ts'
import { forgetOldChat } from '../channels/forget.ts'
import { tellSessions } from '../channels/tell-session.ts'
import { workOffEvents } from '../channels/work.ts'
import { reconcileApps } from '../apps/reconcile.ts'
import { forgetOldRuns } from '../checks/store.ts'
import { noticeChecks } from '../checks/trees.ts'
import { checkDueConnectors } from '../connectors/check.ts'
import { reconcileMovedConnectors } from '../connectors/reconcile.ts'
import { forgetOldApprovals } from '../connectors/store.ts'
import type { Deps } from '../deps.ts'
import { forgetOldEvents } from '../events/store.ts'
import { keptHours } from '../http/idempotency.ts'
import { settleForsaken } from '../models/budget.ts'
import { upstreamsOf } from '../models/upstreams.ts'
import { evictMirrors } from '../projects/evict-mirrors.ts'
import { noticeDefaultBranches } from '../projects/default-branch.ts'
import { sweepRepositories } from '../projects/sweep-repositories.ts'
import { forgetGivenSecrets } from '../secrets/given-store.ts'
import { EnvPusher } from '../sessions/env-push.ts'
import { pruneWip } from '../sessions/prune-wip.ts'
import {
  archiveOldSandboxes,
  deliverWaitingPrompts,
  settleSessions,
  sweepIdleSessions,
  tendQuestions,
} from '../sessions/jobs.ts'
import { reclaimStorage } from '../storage/reclaim.ts'
import { fireDueTriggers } from '../triggers/due.ts'
import { fireForsakenSlots } from '../triggers/fire.ts'
import { reconcileTriggers } from '../triggers/reconcile.ts'
import { forgetOldSlots } from '../triggers/store.ts'
import { WebhookSender } from '../webhooks/sender.ts'
import { forgetOldDeliveries } from '../webhooks/store.ts'
import type { Job } from './loop.ts'

/** Every background job with its interval. Each may run twice and may be killed half-way. */
export function jobs(deps: Deps): Job[] {
  const env = new EnvPusher(deps)
  const webhooks = new WebhookSender(deps)
  return [
    { name: 'settle sessions', everyMs: 5_000, run: () => settleSessions(deps) },
    { name: 'keep sandboxes warm', everyMs: 1_000, run: (signal) => deps.warm.tend(signal) },
    { name: 'deliver prompts', everyMs: 2_000, run: () => deliverWaitingPrompts(deps) },
    { name: 'tend questions', everyMs: 2_000, run: () => tendQuestions(deps) },
    { name: 'push changed secrets', everyMs: 2_000, run: () => env.push() },
    { name: 'sweep idle sessions', everyMs: 30_000, run: () => sweepIdleSessions(deps) },
    { name: 'archive sandboxes', everyMs: 3_600_000, run: () => archiveOldSandboxes(deps) },
    { name: 'settle merges', everyMs: 15_000, run: (signal) => settleMerges(deps, signal) },
    { name: 'follow landings on hosts', everyMs: 5_000, run: (signal) => followHostLandings(deps, signal) },
    { name: 'evict mirrors', everyMs: 600_000, run: (signal) => evictMirrors(deps, signal) },
    { name: 'notice default branches', everyMs: 1_000, run: (signal) => noticeDefaultBranches(deps, signal) },
    { name: 'notice change requests', everyMs: 1_000, run: (signal) => noticeChangeRequests(deps, signal) },
    { name: 'reconcile triggers', everyMs: 1_000, run: () => reconcileTriggers(deps) },
    { name: 'fire due triggers', everyMs: 1_000, run: (signal) => fireDueTriggers(deps, signal) },
    { name: 'fire forsaken slots', everyMs: 5_000, run: (signal) => fireForsakenSlots(deps, signal) },
    { name: 'forget old slots', everyMs: 3_600_000, run: () => forgetOldSlots(deps.db) },
    { name: 'send webhooks', everyMs: 500, run: (signal) => webhooks.tend(signal), ended: () => webhooks.ended() },
    { name: 'forget old events', everyMs: 600_000, run: () => forgetOldEvents(deps.db) },
    { name: 'work off chat events', everyMs: 500, run: (signal) => workOffEvents(deps, signal) },
    { name: 'tell chats of sessions', everyMs: 1_000, run: () => tellSessions(deps) },
    { name: 'tell chats of change requests', everyMs: 1_000, run: (signal) => tellChangeRequests(deps, signal) },
    { name: 'deliver chat messages', everyMs: 500, run: (signal) => deliverMessages(deps, signal) },
    { name: 'forget old chat', everyMs: 3_600_000, run: () => forgetOldChat(deps) },
    { name: 'forget old deliveries', everyMs: 600_000, run: () => forgetOldDeliveries(deps.db) },
    { name: 'reconcile apps', everyMs: 1_000, run: (signal) => reconcileApps(deps, signal) },
    { name: 'settle apps', everyMs: 1_000, run: () => deps.apps.settle() },
    { name: 'notice checks', everyMs: 1_000, run: (signal) => noticeChecks(deps, signal) },
    { name: 'settle checks', everyMs: 1_000, run: () => deps.checks.settle() },
    { name: 'forget old checks', everyMs: 3_600_000, run: () => forgetOldRuns(deps.db) },
    { name: 'reconcile connectors', everyMs: 1_000, run: () => reconcileMovedConnectors(deps) },
    { name: 'check connectors', everyMs: 2_000, run: (signal) => checkDueConnectors(deps, signal) },
    { name: 'forget old approvals', everyMs: 3_600_000, run: () => forgetOldApprovals(deps.db) },
    { name: 'read model upstreams', everyMs: 1_000, run: async () => void upstreamsOf(deps.config).all(deps) },
    { name: 'settle model calls', everyMs: 30_000, run: () => settleForsaken(deps, deps.pulse.deadAfterSeconds()) },
    { name: 'sweep repositories', everyMs: 600_000, run: (signal) => sweepRepositories(deps, signal) },
    { name: 'reclaim storage', everyMs: 600_000, run: (signal) => reclaimStorage(deps, signal) },
    { name: 'prune replaced work', everyMs: 600_000, run: (signal) => pruneWip(deps, signal) },
    { name: 'forget given secrets', everyMs: 3_600_000, run: () => forgetGivenSecrets(deps.db) },
    { name: 'forget idempotency keys', everyMs: 3_600_000, run: () => forgetIdempotencyKeys(deps) },
  ]
}

async function forgetIdempotencyKeys(deps: Pick<Deps, 'db'>): Promise<void> {
  await deps.db
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', sql<string>`now() - make_interval(hours => ${keptHours})`)
    .execute()
}
