/** The steps of a move between two databases. After an interruption at any of them, the same call finishes. */
import { randomUUID } from 'node:crypto'
import type { MoveReport } from '@svc/contract/daemon/operator-reports'
import { StartupError } from '../../startup/startup-error.ts'
import { layTables } from '../migrate.ts'
import type { End } from './connect.ts'
import { copyData, type Progress } from './copy.ts'
import { examineTarget, lockTarget } from './examine.ts'
import { dayOf, type Move, readMove, writeMove } from './state.ts'

type Moved = Omit<MoveReport, 'set_aside'>

/**
 * The caller has locked the source. It keeps its data and gets a mark, by which no server starts on it any more. The copy gets one before its first
 * row, and loses it last. So at most one of the two can be started, and until the source has its mark it is that one.
 */
export async function moveData(
  { from, to, left }: { from: End; to: End; left: Move | null },
  onProgress: (progress: Progress) => void,
  beforeArrival: () => Promise<void>,
): Promise<Moved> {
  await lockTarget(to)
  if (left?.state === 'left') return await finish({ from, to }, left, beforeArrival)
  await examineTarget(to)
  const moveId = randomUUID()
  const [here, there] = [to.address, from.address]
  await layTables(to.client)
  await writeMove(to.client, { move_id: moveId, state: 'arriving', other: there })
  await failpoint('database.after_tables')
  const copied = await copyData({ from, to, moveId, onProgress })
  await failpoint('database.after_copy')
  await writeMove(from.client, { move_id: moveId, state: 'left', other: here })
  await failpoint('database.after_mark')
  await beforeArrival()
  await writeMove(to.client, { move_id: moveId, state: 'arrived', other: there })
  return { move_id: moveId, from: there, to: here, finished_earlier: false, ...copied }
}

/** The source has its mark already: only the database with the copy of that move is right. */
async function finish(
  { from, to }: { from: End; to: End },
  left: Move,
  beforeArrival: () => Promise<void>,
): Promise<Moved> {
  const arrived = await readMove(to.client)
  if (arrived?.move_id !== left.move_id || arrived.state === 'left')
    throw new StartupError(
      `The data moved from ${from.address} to ${left.other} on ${dayOf(left)}. Move from that one: DATABASE_URL is its address, or unset for the embedded database. If that database is lost, restore a backup into an empty folder (svc self-host restore). Nothing was changed.`,
    )
  await beforeArrival()
  if (arrived.state === 'copied')
    await writeMove(to.client, { move_id: left.move_id, state: 'arrived', other: from.address })
  return { move_id: left.move_id, from: from.address, to: to.address, finished_earlier: true, tables: 0, rows: 0 }
}
