/** Works off what came in: in the order of each thread, on whichever server is free, again after one that died. */
import { errorClass, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { MergeDeps } from '../change-requests/merge.ts'
import { answerCommand } from './command.ts'
import { type EventRow, putOffEvent, settleEvent, takeEvent } from './inbox-store.ts'
import { pressMerge } from './merge-button.ts'
import { line } from './message.ts'
import { promptFromChat } from './prompt.ts'
import { sayTo } from './say.ts'
import { type ChannelRow, forgetUnbegun, getChannel } from './store.ts'

export type WorkDeps = MergeDeps &
  Pick<Deps, 'instanceId' | 'pulse' | 'keeper' | 'warm' | 'feed' | 'disk' | 'sandboxes' | 'randomBytes'>

/** What came of one: `later` is tried again. */
export type Worked = { kind: 'done' } | { kind: 'refused'; reason: string } | { kind: 'later'; reason: string }

const atOnce = 4
const tryAgainMs = 10_000
/** A person who asked ten minutes ago looks elsewhere by now. */
const patienceMs = 10 * 60_000

export async function workOffEvents(deps: WorkDeps, signal: AbortSignal): Promise<void> {
  await Promise.all(Array.from({ length: atOnce }, () => workOffInTurn(deps, signal)))
}

async function workOffInTurn(deps: WorkDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const row = await takeEvent(deps.db, {
      instanceId: deps.instanceId,
      now: deps.now(),
      staleSeconds: deps.pulse.deadAfterSeconds(),
    })
    if (row === null) return
    const channel = await getChannel(deps.db, row.channel_id)
    if (channel !== null) await workOff(deps, channel, row, signal)
  }
}

async function workOff(deps: WorkDeps, channel: ChannelRow, row: EventRow, signal: AbortSignal): Promise<void> {
  const worked = await act(deps, channel, row, signal).catch((error: unknown) => failed(deps, row, error))
  const isTooLate = deps.now().getTime() - Date.parse(row.created_at) > patienceMs
  if (worked.kind === 'later' && !isTooLate) {
    await putOffEvent(deps.db, row, { reason: worked.reason, until: new Date(deps.now().getTime() + tryAgainMs) })
    return
  }
  await deps.db.transaction().execute(async (trx) => {
    if (worked.kind === 'done') return settleEvent(trx, row, { status: 'done', reason: null })
    if (row.payload.kind === 'prompt') await forgetUnbegun(trx, channel.channel_id, row.thread_key)
    if (worked.kind === 'later')
      await sayTo(deps, trx, channel, row, line('I could not do that: ', worked.reason, ' Please ask again.'))
    await settleEvent(trx, row, { status: 'refused', reason: worked.reason })
  })
}

function act(deps: WorkDeps, channel: ChannelRow, row: EventRow, signal: AbortSignal): Promise<Worked> {
  const { payload } = row
  switch (payload.kind) {
    case 'prompt':
      return promptFromChat(deps, channel, row, payload)
    case 'command':
      return answerCommand(deps, channel, row, payload)
    case 'action':
      return pressMerge(deps, channel, row, payload, signal)
    default:
      return payload satisfies never
  }
}

/** Nobody knows how far a failure came: it is tried again, under the same ids. */
async function failed(deps: WorkDeps, row: EventRow, error: unknown): Promise<Worked> {
  if (error instanceof ServiceError && errorClass(error.code) === 'unavailable')
    return { kind: 'later', reason: error.message }
  deps.log.warn({ err: error, event: row.delivery_id }, 'a chat message could not be worked off; it is tried again')
  return { kind: 'later', reason: 'The service failed.' }
}
