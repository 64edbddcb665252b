import { ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { clockText, type OtherClock, synchronizeBoth } from '../other-clock.ts'
import { ageMsMax } from '../peer-header.ts'
import { answererText, type AskingDeps, whoAnswers } from '../reachable.ts'
import { clockBetween, findServer, livePeer } from '../store.ts'
import { activeMoveOf, forceMove, insertMove, mayKeepProjects, type MoveRow } from './store.ts'

type StartDeps = AskingDeps & Pick<Deps, 'home' | 'heartbeat' | 'newId'>

/** Begins a move; jobs of the two servers carry it out. */
export async function startMove(
  deps: StartDeps,
  input: { project: ProjectRow; to: string; isForced: boolean; caller: Caller },
): Promise<MoveRow> {
  const { project, to, isForced, caller } = input
  await refuseTarget(deps, project, to)
  const begun = await deps.db.transaction().execute(async (trx) => {
    const row = { ...rowOf(deps, project, to), is_forced: isForced, requested_by: caller.actor.user_id }
    const begun = await insertMove(trx, { ...row, cause: 'request' })
    const move = begun ?? (isForced ? await forceMove(trx, { projectId: project.project_id, to }) : null)
    if (move !== null)
      await recordAudit(trx, caller, {
        ...auditEvent(project, 'project.move', 'project', project.project_id),
        before: { server: project.home },
        after: { server: to, force: isForced },
      })
    return move
  })
  if (begun !== null) return begun
  const at = (await activeMoveOf(deps.db, project.project_id))?.to_server ?? to
  throw new ServiceError('conflict', `This project is moving to ${at} already.`, {
    hint: `Follow that move with svc self-host move ${project.slug} ${at} --wait, or cancel it: svc self-host move ${project.slug} --cancel`,
  })
}

export function rowOf(
  { newId }: Pick<Deps, 'newId'>,
  { project_id, home, home_epoch }: Pick<ProjectRow, 'project_id' | 'home' | 'home_epoch'>,
  to: string,
) {
  return { move_id: newId(), project_id, from_server: home ?? '', to_server: to, home_epoch }
}

export function noSuchServer(name: string): ServiceError {
  return new ServiceError('not_found', `There is no server with the name ${JSON.stringify(name)}.`, {
    hint: 'svc self-host servers lists them.',
  })
}

async function refuseTarget(deps: StartDeps, project: ProjectRow, to: string): Promise<void> {
  const { db, home, heartbeat } = deps
  if (home === null || project.home === null)
    throw new ServiceError('conflict', 'This server runs alone, so there is no server to move projects to.', {
      hint: 'Start every server with SVC_PEER_URL: see the page "Several servers" of the docs, /docs/operate/several-servers on your server.',
    })
  const server = await findServer(db, { server_name: to })
  if (server === null) throw noSuchServer(to)
  if (project.home === to) throw new ServiceError('conflict', `${to} keeps this project already.`)
  if (server.draining_since !== null)
    throw new ServiceError('conflict', `${to} is being drained, so it takes no projects.`, {
      hint: `End that first: svc self-host drain ${to} --off`,
    })
  if (!(await mayKeepProjects(db, { serverName: to, deadAfterSeconds: heartbeat.deadAfterSeconds() })))
    throw new ServiceError('conflict', `${to} is not running, or it keeps no projects (SVC_ROLES).`)
  await refuseElsewhere(deps, to)
  await refuseOtherClock(deps, { of: to, than: project.home })
  const from = await findServer(db, { server_name: project.home })
  // From one that cannot start them either, the move may still be wanted.
  if (server.sandboxes_ready === false && from?.sandboxes_ready !== false)
    throw new ServiceError('conflict', `${to} cannot start sandboxes: ${server.sandbox_problem}`, {
      hint: `Mend that first: svc self-host doctor on the machine of ${to}. It is looked at again every minute.`,
    })
}

/** The two would refuse each other's requests, so nothing could be copied. */
async function refuseOtherClock({ db, heartbeat }: StartDeps, between: Pick<OtherClock, 'of' | 'than'>): Promise<void> {
  const seconds = await clockBetween(db, { ...between, deadAfterSeconds: heartbeat.deadAfterSeconds() })
  if (seconds === null || Math.abs(seconds) * 1000 <= ageMsMax) return
  throw new ServiceError('conflict', clockText({ ...between, seconds }), { hint: synchronizeBoth })
}

/** One that does not answer at the moment is waited for. */
async function refuseElsewhere(deps: StartDeps, to: string): Promise<void> {
  if (to === deps.serverName) return
  const peer = await livePeer(deps.db, { serverName: to, deadAfterSeconds: deps.heartbeat.deadAfterSeconds() })
  const answering = peer === null ? null : await whoAnswers(deps, peer)
  if (answering?.kind !== 'other') return
  throw new ServiceError(
    'conflict',
    `${to} cannot be reached: ${peer!.peer_url}, its SVC_PEER_URL, leads to ${answererText(answering)}.`,
    { hint: `Start ${to} with an SVC_PEER_URL that leads to it.` },
  )
}
