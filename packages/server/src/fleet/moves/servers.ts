/** The servers of the database, as their operators see them. */
import { type Server, ServiceError } from '@svc/contract'
import { requireInstanceOwner } from '../../accounts/change.ts'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import { differencesAt } from '../facts.ts'
import { type AskingDeps, isAnswering } from '../reachable.ts'
import { placedProjects } from '../../projects/replicas/store.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import { findServer, lockNames, serversWithProjects, setDraining } from '../store.ts'
import { presentMove } from './present.ts'
import { noSuchServer } from './start-move.ts'
import { mayKeepProjects, namedMoves, unmovableProjects } from './store.ts'

type ServerDeps = AskingDeps & Pick<Deps, 'heartbeat'>

export async function listServers(
  deps: ServerDeps,
  { caller, withProjects }: { caller: Caller<UserActor>; withProjects: boolean },
) {
  await requireInstanceOwner(deps.db, caller.actor.user_id, 'list the servers')
  const moves = (await namedMoves(deps.db)).map(presentMove)
  const unmovable = await unmovableProjects(deps.db)
  const rows = await serversWithProjects(deps.db, deps.heartbeat.deadAfterSeconds())
  const servers = await Promise.all(
    rows.map(async (row) => {
      const { server_name: name, peer_url, running, draining, last_seen } = row
      const { projects, copies, copies_to_move } = row
      const isItself = name === deps.serverName
      const reachable =
        isItself || peer_url === null || !running ? null : await isAnswering(deps, { server_name: name, peer_url })
      const keeps_projects = row.keeps_projects || (running && peer_url === null)
      const kept = { projects, copies, copies_to_move }
      const facts = { name, peer_url, running, reachable, keeps_projects, draining, ...kept, last_seen }
      const sandboxes = keeps_projects ? sandboxState(row.sandboxes_ready) : null
      const sandbox_problem = sandboxes === 'missing' ? row.sandbox_problem : null
      return {
        ...facts,
        sandboxes,
        sandbox_problem,
        clock_ahead_seconds: row.clock_ahead_seconds,
        disk_low: row.disk_low,
        different_settings: differencesAt(row, deps),
        unmovable: unmovable
          .filter(({ home }) => home === name)
          .map(({ project_id, slug, error }) => ({ project_id, project_slug: slug, reason: error })),
        moves: moves.filter(({ from }) => from === name),
      } satisfies Server
    }),
  )
  return withProjects ? { servers, projects: await placedProjects(deps.db) } : { servers }
}

function sandboxState(isReady: boolean | null): Server['sandboxes'] {
  return isReady === null ? null : isReady ? 'ready' : 'missing'
}

export async function drainServer(
  deps: ServerDeps,
  { serverName, off, caller }: { serverName: string; off: boolean; caller: Caller<UserActor> },
) {
  const { db } = deps
  const { user_id } = caller.actor
  const account_id = await requireInstanceOwner(db, user_id, 'drain servers')
  const server = await findServer(db, { server_name: serverName })
  if (server === null) throw noSuchServer(serverName)
  await db.transaction().execute(async (trx) => {
    if (!off) {
      // Two drains at once would each find the other's server.
      await lockNames(trx)
      await refuseLast(trx, { serverName, deadAfterSeconds: deps.heartbeat.deadAfterSeconds() })
    }
    await setDraining(trx, serverName, !off)
    await recordAudit(trx, caller, {
      ...auditEvent({ account_id }, off ? 'server.end_drain' : 'server.drain', 'server', serverName),
      before: { draining: server.draining_since !== null },
      after: { draining: !off },
    })
  })
  return { name: serverName, draining: !off }
}

async function refuseLast(
  db: DbOrTransaction,
  { serverName, deadAfterSeconds }: { serverName: string; deadAfterSeconds: number },
): Promise<void> {
  for (const { server_name, draining } of await serversWithProjects(db, deadAfterSeconds)) {
    const isOther = server_name !== serverName && !draining
    if (isOther && (await mayKeepProjects(db, { serverName: server_name, deadAfterSeconds }))) return
  }
  throw new ServiceError('conflict', `No other server is running that could keep the projects of ${serverName}.`, {
    hint: 'Start another server with the role worker first.',
  })
}
