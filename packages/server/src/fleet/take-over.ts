/** Gives the projects of a server that is gone for good a new home each, at the server with their copy. */
import { type BodyOf, ServiceError, type takenProject, type takeOverServerRoute } from '@svc/contract'
import pLimit from 'p-limit'
import type { z } from 'zod'
import { requireInstanceOwner } from '../accounts/change.ts'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller, UserActor } from '../auth/actor.ts'
import { lostSecondsMax } from '../db/live-instance.ts'
import type { Deps } from '../deps.ts'
import { homeOf, projectsAt, projectsAtAfter } from '../projects/home-store.ts'
import { askPeer, PeerFailure, replicaPath } from '../projects/replicas/peer.ts'
import { deleteReplicasOn, findReplica, type Keeper, liveKeepers } from '../projects/replicas/store.ts'
import type { ProjectRow } from '../projects/store.ts'
import { lossOf } from './judge-copy.ts'
import { promote, type Promote, type Promoted } from './promote.ts'
import { endConnections, findServer, lastSeen, livePeer, markTakenOver } from './store.ts'

type Taken = z.output<typeof takenProject>

/** An answer has to leave before a proxy in between gives up. */
const answerMs = 20_000
const atOnce = 4
/** The copy of a large repository is verified first. */
const promoteMsMax = 600_000

interface TakeOver extends NonNullable<BodyOf<typeof takeOverServerRoute>> {
  serverName: string
  caller: Caller<UserActor>
}

export async function takeOverServer(deps: Deps, input: TakeOver) {
  const { serverName, caller, accept_loss } = input
  const account_id = await requireInstanceOwner(deps.db, caller.actor.user_id, 'take over servers')
  const { data_folder } = await requireGone(deps, serverName)
  const began = performance.now()
  // It can be paused in the middle of a transaction, or hold the lock of a merge.
  await endConnections(deps.db, serverName)
  const { after } = input
  const left = await (after === undefined
    ? projectsAt(deps.db, serverName)
    : projectsAtAfter(deps.db, serverName, after))
  const projects: Taken[] = []
  for (let at = 0; at < left.length && performance.now() - began < answerMs; at += atOnce)
    projects.push(
      ...(await pLimit(atOnce).map(left.slice(at, at + atOnce), (project) =>
        takeProject(deps, project, { serverName, acceptLoss: accept_loss }),
      )),
    )
  const taken = projects.filter(({ outcome }) => outcome === 'taken')
  const lost_merges = taken.flatMap(({ project_id, lost_merges: lost }) =>
    lost.map(({ cr_id, number }) => ({ project_id, cr_id, number })),
  )
  await recordAudit(deps.db, caller, {
    ...auditEvent({ account_id }, 'server.take_over', 'server', serverName),
    after: { server: serverName, projects: taken.length, accept_loss, ...(lost_merges.length > 0 && { lost_merges }) },
  })
  await deleteReplicasOn(deps.db, serverName)
  if ((await projectsAt(deps.db, serverName)).length === 0) {
    // It may have come back meanwhile: then it is a server like any other, without these projects.
    const isGone = await markTakenOver(deps.db, serverName, deps.heartbeat.deadAfterSeconds())
    if (isGone) await endSandboxes(deps, serverName, data_folder)
  }
  return { server: serverName, projects, remaining: left.length - projects.length }
}

/** Those in a cluster go on without their server. A cluster that cannot be reached must not keep projects from a home. */
async function endSandboxes({ sandboxes, log }: Deps, server: string, folderId: string): Promise<void> {
  await sandboxes
    ?.endOf?.(folderId)
    .catch((error: unknown) =>
      log.error({ err: error, server }, 'the sandboxes of a lost server are left in the cluster; take it over again'),
    )
}

async function requireGone(deps: Deps, serverName: string): Promise<{ data_folder: string }> {
  const { db, heartbeat } = deps
  const server = await findServer(db, { server_name: serverName })
  if (server === null)
    throw new ServiceError('not_found', `No server with the name ${serverName} has ever used this database.`)
  const deadAfterSeconds = heartbeat.deadAfterSeconds()
  const isRunning =
    serverName === deps.serverName || (await livePeer(db, { serverName, deadAfterSeconds, anyRole: true })) !== null
  if (!isRunning) return server
  const seen = await lastSeen(db, serverName)
  throw new ServiceError(
    'conflict',
    `The server ${serverName} is running: it was last seen at ${seen ?? 'this moment'}.`,
    {
      hint: `Stop it first if it has to go, and repeat the command then. A server counts as gone ${lostSecondsMax} seconds after the end of its process, or ${deadAfterSeconds} seconds after its last heartbeat if its connections to PostgreSQL stay open.`,
      detail: { last_seen: seen },
    },
  )
}

async function takeProject(
  deps: Deps,
  project: ProjectRow,
  { serverName, acceptLoss }: { serverName: string; acceptLoss: boolean },
): Promise<Taken> {
  const { project_id, home_epoch } = project
  const slug = project.deleted_slug ?? project.slug
  const facts = { project_id, slug, error: null, missing: [], is_stale: false, lost_merges: [] }
  const row = await findReplica(deps.db, project_id)
  const running = [
    ...(await liveKeepers(deps.db, { serverName: '', deadAfterSeconds: deps.heartbeat.deadAfterSeconds() })),
  ]
  const holder = row === null || row.server === serverName ? null : row.server
  const target = holder === null ? running[0] : running.find(({ server_name }) => server_name === holder)
  const ask = (keeper: Keeper, how: Pick<Promote, 'acceptLoss' | 'isTrial'>) =>
    promoteAt(deps, keeper, {
      ...{ projectId: project_id, deadHome: serverName, epoch: home_epoch },
      ...how,
      reason: `Its server, ${serverName}, is gone, and ${keeper.server_name} took its project over. Send a prompt to continue: pushed work is on the branch, and saved work is put back into the work tree.`,
    })
  const found: Found[] = []
  for (const keeper of [...(target === undefined ? [] : [target]), ...running.filter((each) => each !== target)]) {
    const outcome = await ask(keeper, { acceptLoss: false, isTrial: keeper !== target })
    // `moved`: a server took the project before, and died before it said so.
    if (!(outcome instanceof PeerFailure) && (outcome.kind === 'taken' || outcome.kind === 'moved'))
      return { ...facts, ...(await withNewHome(deps, project, presented(outcome, keeper, holder))) }
    found.push({ keeper, outcome })
  }
  const best = leastLoss(found)
  // The copy that does not answer has everything, as far as is known.
  const first = target === undefined ? null : found[0]!.outcome
  const isSilent = holder !== null && (first === null || first instanceof PeerFailure)
  if (isSilent && (best === null || best.loss > 0))
    return { ...facts, ...(first instanceof PeerFailure ? notTaken(first, holder) : notRunning(holder)) }
  const chosen = best?.keeper ?? target
  if (chosen === undefined) return { ...facts, outcome: 'no-copy', server: holder }
  if (best !== null && best.loss > 0 && !acceptLoss) return { ...facts, ...presented(best.outcome, chosen, holder) }
  const last = presented(await ask(chosen, { acceptLoss }), chosen, holder)
  return { ...facts, ...(await withNewHome(deps, project, last)) }
}

type Outcome = Pick<Taken, 'outcome' | 'server'> & Partial<Taken>

/** Another request took it, and the database has where. */
async function withNewHome({ db }: Deps, { project_id, home }: ProjectRow, outcome: Outcome): Promise<Outcome> {
  if (outcome.outcome !== 'taken' || outcome.server !== null) return outcome
  const now = await homeOf(db, project_id)
  return { ...outcome, server: now === null || now.home === home ? null : now.home }
}

interface Found {
  keeper: Keeper
  outcome: Promoted | PeerFailure
}

/** A server can have more from before a move than the copy has, or all there is. */
function leastLoss(found: Found[]) {
  const lossy = found.flatMap(({ keeper, outcome }) =>
    outcome instanceof PeerFailure || outcome.kind !== 'lossy'
      ? []
      : [{ keeper, outcome, loss: lossOf({ missing: outcome.missing, isStale: outcome.is_stale }) }],
  )
  return lossy.toSorted((a, b) => a.loss - b.loss)[0] ?? null
}

function presented(outcome: Promoted | PeerFailure, target: Keeper, holder: string | null): Outcome {
  const server = target.server_name
  if (outcome instanceof PeerFailure) return notTaken(outcome, server)
  switch (outcome.kind) {
    case 'taken':
      return { outcome: 'taken', server, ...lossIn(outcome) }
    case 'lossy':
      return { outcome: 'would-lose', server, ...lossIn(outcome) }
    case 'no-copy':
      return { outcome: 'no-copy', server: holder }
    case 'moved':
      return { outcome: 'taken', server: null }
    default:
      return outcome satisfies never
  }
}

function lossIn({ missing, is_stale, lost_merges = [] }: Extract<Promoted, { kind: 'taken' | 'lossy' }>) {
  return { missing, is_stale, lost_merges }
}

function notTaken(failure: PeerFailure, server: string): Outcome {
  return failure.isAnswer ? { outcome: 'failed', server, error: failure.message } : notRunning(server)
}

function notRunning(server: string): Outcome {
  return { outcome: 'copy-not-running', server }
}

/** One project must not keep the others from a home. */
async function promoteAt(
  deps: Deps,
  target: Keeper,
  input: Parameters<typeof promote>[1],
): Promise<Promoted | PeerFailure> {
  if (target.server_name === deps.serverName)
    return promote(deps, input).catch((error: unknown) => {
      const { projectId: project_id, deadHome: from } = input
      deps.log.error({ err: error, project_id, from }, 'a project could not be taken over')
      const reason = error instanceof ServiceError ? error.message : `see the log of ${target.server_name}.`
      return new PeerFailure('silent', reason, { cause: error, isAnswer: true })
    })
  const path = `${replicaPath}/${input.projectId}/promote`
  const body = new TextEncoder().encode(JSON.stringify(input))
  return askPeer<Promoted>(deps, target, { method: 'POST', path, body, timeoutMs: promoteMsMax }).catch(
    (error: unknown) => {
      if (error instanceof PeerFailure) return error
      throw error
    },
  )
}
