import { pollExternal, pollRequested } from '../change-requests/preview/detect.ts'
import { computeWantedFacts } from '../change-requests/preview/wanted.ts'
import { ManagedSweep } from '../change-requests/preview/sweep-managed.ts'
import { followHostLandings } from '../change-requests/merge/follow-host-landings.ts'
import { reconcileMerges } from '../change-requests/merge/reconcile.ts'
import { postChangeRequestUpdates } from '../channels/updates/cards.ts'
import { deliverMessages } from '../channels/outbox/deliver.ts'
import { deleteOldChannelRows } from '../channels/forget.ts'
import { postSessionUpdates } from '../channels/updates/post-session.ts'
import { processEvents } from '../channels/ingress/process-events.ts'
import { applyAppManifests } from '../apps/apply-manifest.ts'
import { detectChecks } from '../checks/trees.ts'
import { checkDueConnectors } from '../connectors/check.ts'
import { reconcileMovedConnectors } from '../connectors/reconcile.ts'
import { deleteOldApprovals } from '../connectors/calls/approval-store.ts'
import { ScheduledBackups } from '../backup/schedule.ts'
import type { Deps } from '../deps.ts'
import { recordOwnSandboxes } from '../fleet/facts.ts'
import { balanceServers } from '../fleet/moves/balance.ts'
import { removeCopies } from '../fleet/moves/remove-copies.ts'
import { MoveTender } from '../fleet/moves/tend-moves.ts'
import { forgetOldMarks } from '../inbox/mark-store.ts'
import { deleteOldKeys } from '../http/idempotency-store.ts'
import { reconcileOrphaned } from '../models/usage/budget.ts'
import { upstreamsOf } from '../models/upstreams/upstreams.ts'
import { evictMirrors } from '../projects/mirrors/evict-mirrors.ts'
import { dropLostReplicas, followRefs, sweepReplicas } from '../projects/replicas/keep.ts'
import { deleteOldRefChanges } from '../projects/replicas/store.ts'
import { sweepRepositories } from '../projects/sweep-repositories.ts'
import { forgetGivenSecrets } from '../secrets/given-store.ts'
import { retentionJobs } from '../retention/delete-old.ts'
import { DeletionClock } from '../retention/deletion-clock.ts'
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
import { nextDeployInMs } from '../apps/store.ts'
import { renewFolder } from '../startup/folder-records.ts'
import { reclaimStorage } from '../storage/reclaim.ts'
import { Rotation } from '../storage/rotation.ts'
import { fireDueTriggers } from '../triggers/fire-due.ts'
import { fireOrphanedSlots } from '../triggers/fire.ts'
import { reconcileTriggers } from '../triggers/reconcile.ts'
import { WebhookSender } from '../webhooks/sender.ts'
import type { Job } from './loop.ts'

/** While notifications arrive, a job that nothing wakes runs this often, for what a lost one left. */
const idleMs = 30_000
/** For jobs that then compare all projects. */
const compareAllMs = 300_000

/** Every background job with its interval and what wakes it. Each may run twice and may be killed half-way. */
export function jobs(deps: Deps): Job[] {
  const clock = new DeletionClock(deps)
  return [
    ...jobsOfSessions(deps, clock),
    ...jobsOfRepositories(deps),
    ...jobsOfManifests(deps),
    ...jobsOfMessages(deps),
    ...jobsOfHomes(deps),
    ...cleanups(deps, clock),
  ]
}

function jobsOfSessions(deps: Deps, clock: DeletionClock): Job[] {
  const env = new EnvPusher(deps)
  const refreshes = new RefreshTender(deps)
  return [
    {
      name: 'reconcile sessions',
      scope: 'home',
      everyMs: 5_000,
      wakeOn: ['project_sessions', 'server_instances'],
      idleMs: 15_000,
      run: () => reconcileSessions(deps),
    },
    {
      name: 'maintain warm sandboxes',
      scope: 'own sandboxes',
      everyMs: 1_000,
      wakeOn: ['project_sessions', 'warm_sandboxes', 'default_branches', 'projects', 'server_instances'],
      idleMs,
      run: (signal) => deps.warm.tend(signal),
    },
    {
      name: 'deliver prompts',
      scope: 'home',
      everyMs: 2_000,
      wakeOn: ['session_prompts', 'project_sessions'],
      idleMs,
      run: () => deliverWaitingPrompts(deps),
    },
    {
      name: 'reconcile questions',
      scope: 'home',
      everyMs: 2_000,
      wakeOn: ['session_questions'],
      idleMs: 60_000,
      run: () => tendQuestions(deps),
    },
    {
      name: 'push changed secrets',
      scope: 'own sandboxes',
      everyMs: 2_000,
      wakeOn: ['projects', 'project_sessions'],
      idleMs: 60_000,
      run: (_, changed) => env.push(changed),
    },
    {
      name: 'refresh sessions',
      scope: 'own sandboxes',
      everyMs: 2_000,
      wakeOn: ['default_branches', 'project_sessions'],
      idleMs: 60_000,
      run: (signal, changed) => refreshes.tend(signal, changed),
      ended: () => refreshes.ended(),
    },
    { name: 'sweep idle sessions', scope: 'home', everyMs: 30_000, run: () => sweepIdleSessions(deps) },
    {
      name: 'reconcile model calls',
      scope: 'any server',
      everyMs: 30_000,
      run: () => reconcileOrphaned(deps, deps.heartbeat.deadAfterSeconds()),
    },
    {
      name: 'end deleted projects',
      scope: 'home',
      everyMs: 5_000,
      wakeOn: ['projects'],
      idleMs: 60_000,
      async run(signal) {
        return endDeletedProjects(deps, signal, { mayPurge: await clock.isSure() })
      },
    },
  ]
}

function jobsOfRepositories(deps: Deps): Job[] {
  const sweep = new ManagedSweep(deps)
  return [
    {
      name: 'poll requested repositories',
      scope: 'home',
      everyMs: 1_000,
      wakeOn: ['project_looks'],
      idleMs,
      run: (signal) => pollRequested(deps, signal),
    },
    {
      name: 'poll external repositories',
      scope: 'home',
      everyMs: 1_000,
      wakeOn: ['projects'],
      idleMs: 60_000,
      run: (signal) => pollExternal(deps, signal),
    },
    {
      name: 'check shown change requests',
      scope: 'home',
      everyMs: 1_000,
      wakeOn: ['wanted_change_request_facts'],
      idleMs,
      run: (signal) => computeWantedFacts(deps, signal),
    },
    { name: 'sweep managed repositories', scope: 'home', everyMs: 5_000, run: (signal) => sweep.run(signal) },
    { name: 'reconcile merges', scope: 'home', everyMs: 15_000, run: (signal) => reconcileMerges(deps, signal) },
    {
      name: 'follow landings on hosts',
      scope: 'home',
      everyMs: 5_000,
      wakeOn: ['host_landings'],
      idleMs: 60_000,
      run: (signal) => followHostLandings(deps, signal),
    },
    { name: 'copy repositories', scope: 'home', everyMs: 2_000, run: (signal) => deps.replicas.tend(signal) },
    { name: 'follow refs', scope: 'own disk', everyMs: 5_000, run: (signal) => followRefs(deps, signal) },
    { name: 'evict mirrors', scope: 'own disk', everyMs: 600_000, run: (signal) => evictMirrors(deps, signal) },
    {
      name: 'detect checks',
      scope: 'home',
      everyMs: 1_000,
      wakeOn: ['change_requests', 'default_branches', 'projects'],
      idleMs: compareAllMs,
      run: (signal, changed) => detectChecks(deps, signal, changed),
    },
    {
      name: 'reconcile checks',
      scope: 'home',
      everyMs: 1_000,
      wakeOn: ['check_runs', 'projects', 'server_instances'],
      idleMs,
      run: () => deps.checks.reconcile(),
    },
  ]
}

/** Jobs that apply a manifest and the secrets that it names. */
function jobsOfManifests(deps: Deps): Job[] {
  return [
    {
      name: 'reconcile triggers',
      scope: 'any server',
      everyMs: 1_000,
      wakeOn: ['default_branches', 'projects'],
      idleMs: compareAllMs,
      run: (_, changed) => reconcileTriggers(deps, changed),
    },
    {
      name: 'fire due triggers',
      scope: 'home',
      everyMs: 1_000,
      wakeOn: ['triggers', 'projects'],
      idleMs,
      run: (signal) => fireDueTriggers(deps, signal),
    },
    { name: 'fire orphaned slots', scope: 'home', everyMs: 5_000, run: (signal) => fireOrphanedSlots(deps, signal) },
    {
      name: 'apply app manifests',
      scope: 'home',
      everyMs: 1_000,
      wakeOn: ['default_branches', 'projects'],
      idleMs: compareAllMs,
      run: (signal, changed) => applyAppManifests(deps, signal, changed),
    },
    {
      name: 'reconcile apps',
      scope: 'home',
      everyMs: 1_000,
      wakeOn: ['apps', 'app_deploys', 'projects', 'server_instances'],
      idleMs,
      async run() {
        await deps.apps.reconcile()
        return nextDeployInMs(deps.db)
      },
    },
    {
      name: 'reconcile connectors',
      scope: 'any server',
      everyMs: 1_000,
      wakeOn: ['default_branches', 'projects'],
      idleMs: compareAllMs,
      run: (_, changed) => reconcileMovedConnectors(deps, changed),
    },
    {
      name: 'check connectors',
      scope: 'any server',
      everyMs: 2_000,
      wakeOn: ['connectors', 'projects'],
      idleMs: 60_000,
      run: (signal, changed) => checkDueConnectors(deps, signal, changed),
    },
    {
      name: 'read model upstreams',
      scope: 'any server',
      // Only a file changes without this server.
      everyMs: deps.config.modelUpstreams.file === null ? 60_000 : 1_000,
      run: async () => void upstreamsOf(deps.config).all(deps),
    },
  ]
}

function jobsOfMessages(deps: Deps): Job[] {
  const webhooks = new WebhookSender(deps)
  return [
    {
      name: 'send webhooks',
      scope: 'any server',
      everyMs: 500,
      wakeOn: ['project_events', 'projects', 'webhooks', 'webhook_deliveries', 'server_instances'],
      idleMs,
      run: (signal, changed) => webhooks.tend(signal, changed),
      ended: () => webhooks.ended(),
    },
    {
      name: 'process chat events',
      scope: 'home',
      everyMs: 500,
      wakeOn: ['channel_events', 'projects', 'server_instances'],
      idleMs,
      run: (signal) => processEvents(deps, signal),
    },
    {
      name: 'post session updates',
      scope: 'any server',
      everyMs: 1_000,
      wakeOn: ['channel_threads', 'project_sessions', 'session_questions', 'session_wip'],
      idleMs,
      run: (_, changed) => postSessionUpdates(deps, changed),
    },
    {
      name: 'post change request updates',
      scope: 'home',
      everyMs: 1_000,
      wakeOn: ['channels', 'change_requests', 'default_branches'],
      idleMs: compareAllMs,
      run: (signal, changed) => postChangeRequestUpdates(deps, signal, changed),
    },
    {
      name: 'deliver chat messages',
      scope: 'any server',
      everyMs: 500,
      wakeOn: ['channel_messages', 'channels', 'projects', 'server_instances'],
      idleMs,
      run: (signal) => deliverMessages(deps, signal),
    },
  ]
}

function jobsOfHomes(deps: Deps): Job[] {
  const moves = new MoveTender(deps)
  return [
    {
      name: 'move projects',
      scope: 'any server',
      everyMs: 1_000,
      wakeOn: ['project_moves'],
      idleMs,
      run: (signal) => moves.tend(signal),
      ended: () => moves.ended(),
    },
    {
      name: 'balance servers',
      scope: 'any server',
      everyMs: 2_000,
      // The next move of a drain begins when one has ended.
      wakeOn: ['project_moves'],
      idleMs: 20_000,
      run: (_signal, changed) => balanceServers(deps, { ofDrains: changed !== 'all' }),
    },
    { name: 'renew the mark of the data folder', scope: 'own disk', everyMs: 3_600_000, run: () => renewFolder(deps) },
    { name: 'test sandboxes', scope: 'own sandboxes', everyMs: 60_000, run: () => recordOwnSandboxes(deps) },
    {
      name: 'remove moved copies',
      scope: 'own disk',
      everyMs: 5_000,
      // A move that was cancelled or failed leaves the target what it has copied.
      wakeOn: ['project_moves'],
      idleMs: 600_000,
      run: () => removeCopies(deps),
    },
  ]
}

/** A server that starts sweeps every repository, because the one before it may have died; later a few at a time. */
const sweptMax = 200

function cleanups(deps: Deps, clock: DeletionClock): Job[] {
  const backups = new ScheduledBackups(deps)
  const [reclaimed, pruned] = [new Rotation(), new Rotation()]
  const swept = { repositories: new Rotation(), mirrors: new Rotation() }
  let isFirst = true
  const few = (dirs: string[], folder: keyof typeof swept) => swept[folder].next(dirs, isFirst ? Infinity : sweptMax)
  return [
    { name: 'back up', scope: 'own disk', everyMs: 60_000, run: (signal) => backups.run(signal) },
    ...retentionJobs(deps, clock),
    { name: 'archive sandboxes', scope: 'any server', everyMs: 3_600_000, run: () => archiveOldSandboxes(deps) },
    { name: 'delete old chat', scope: 'any server', everyMs: 3_600_000, run: () => deleteOldChannelRows(deps) },
    { name: 'delete old approvals', scope: 'any server', everyMs: 3_600_000, run: () => deleteOldApprovals(deps.db) },
    {
      name: 'sweep repositories',
      scope: 'own disk',
      everyMs: 600_000,
      async run(signal) {
        await sweepRepositories(deps, signal, few)
        isFirst = false
      },
    },
    { name: 'find lost copies', scope: 'own disk', everyMs: 20_000, run: () => dropLostReplicas(deps) },
    { name: 'sweep copies', scope: 'own disk', everyMs: 600_000, run: (signal) => sweepReplicas(deps, signal) },
    {
      name: 'delete old ref changes',
      scope: 'any server',
      everyMs: 3_600_000,
      run: () => deleteOldRefChanges(deps.db),
    },
    {
      name: 'reclaim storage',
      scope: 'home',
      everyMs: 600_000,
      run: (signal) => reclaimStorage(deps, signal, reclaimed),
    },
    {
      name: 'prune unfinished work',
      scope: 'home',
      everyMs: 600_000,
      run: clock.unlessWaiting((signal) => pruneWip(deps, signal, pruned)),
    },
    { name: 'delete given secrets', scope: 'any server', everyMs: 3_600_000, run: () => forgetGivenSecrets(deps.db) },
    { name: 'delete old inbox marks', scope: 'any server', everyMs: 3_600_000, run: () => forgetOldMarks(deps.db) },
    { name: 'delete idempotency keys', scope: 'any server', everyMs: 3_600_000, run: () => deleteOldKeys(deps.db) },
  ]
}
