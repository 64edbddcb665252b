import { ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { undoMove } from './end-move.ts'
import { activeMoveOf } from './store.ts'

type CancelDeps = Pick<Deps, 'db' | 'log' | 'homeGate'>

/** The project stays whole at its home; what the move had ended there already starts again. */
export async function cancelMove(deps: CancelDeps, project: ProjectRow, caller: Caller): Promise<void> {
  const move = await activeMoveOf(deps.db, project.project_id)
  if (move === null) throw new ServiceError('conflict', 'This project is not moving.')
  const late = () =>
    new ServiceError('conflict', `${move.to_server} is taking this project at the moment, so the move goes on.`, {
      hint: `It takes seconds. To move the project back: svc self-host move ${project.slug} ${move.from_server}`,
    })
  if (move.phase === 'frozen') throw late()
  if (!(await undoMove(deps, move, { error: 'It was cancelled.', again: false }))) throw late()
  await recordAudit(deps.db, caller, {
    ...auditEvent(project, 'project.cancel_move', 'project', project.project_id),
    before: { server: move.to_server },
    after: { server: move.from_server },
  })
}
