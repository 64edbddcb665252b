import { ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { undoMove } from './end-move.ts'
import { activeMoveOf, type MoveRow } from './store.ts'

type CancelDeps = Pick<Deps, 'db' | 'log' | 'homeGate'>

/** The project stays whole at its home; what the move had ended there already starts again. */
export async function cancelMove(deps: CancelDeps, project: ProjectRow, caller: Caller): Promise<void> {
  const move = await activeMoveOf(deps.db, project.project_id)
  if (move === null) throw new ServiceError('conflict', 'This project is not moving.')
  if (!(await isUndone(deps, move)))
    throw new ServiceError('conflict', `${move.to_server} is taking this project at the moment, so the move goes on.`, {
      hint: `It takes seconds. To move the project back: svc self-host move ${project.slug} ${move.from_server}`,
    })
  await recordAudit(deps.db, caller, {
    ...auditEvent(project, 'project.cancel_move', 'project', project.project_id),
    before: { server: move.to_server },
    after: { server: move.from_server },
  })
}

/** False when it is too late. The move may reach its next phase meanwhile. */
async function isUndone(deps: CancelDeps, move: MoveRow): Promise<boolean> {
  let now: MoveRow | null = move
  while (now?.move_id === move.move_id && now.phase !== 'frozen') {
    if (await undoMove(deps, now, { error: 'It was cancelled.', again: false })) return true
    now = await activeMoveOf(deps.db, move.project_id)
  }
  return false
}
