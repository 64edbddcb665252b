/** Processes incoming events in the order of each thread. Any server may claim an event, and retries those of a crashed server. */
import type { EventDeps, EventOutcome } from './channel-event.ts'
import { errorClass, ServiceError } from '@svc/contract'
import { handleAnswerButton } from '../actions/answer-button.ts'
import { answerCommand } from '../actions/command.ts'
import { claimEvent, type EventRow, finishEvent, nextTryInMs, postponeEvent } from './inbox-store.ts'
import { handleMergeButton } from '../actions/merge-button.ts'
import { line } from '../outbox/message.ts'
import { promptFromChat } from '../actions/prompt.ts'
import { replyToAuthor } from '../outbox/ephemeral-reply.ts'
import { type ChannelRow, deleteUnstartedThread, getChannel } from '../store.ts'
import { workOff } from '../../work-off.ts'

const atOnce = 4
const tryAgainMs = 10_000
/** After ten minutes the user no longer waits for a reply. */
const replyWithinMs = 10 * 60_000

/** The job. Returns in how many milliseconds an event is tried again. */
export async function processEvents(deps: EventDeps, signal: AbortSignal): Promise<number | null> {
  await workOff({
    atOnce,
    signal,
    take: () =>
      claimEvent(deps.db, {
        instanceId: deps.instanceId,
        home: deps.home,
        now: deps.now(),
        staleSeconds: deps.heartbeat.deadAfterSeconds(),
      }),
    async work(row) {
      const channel = await getChannel(deps.db, row.channel_id)
      if (channel !== null) await processEvent(deps, channel, row, signal)
    },
  })
  return nextTryInMs(deps.db, deps.now())
}

async function processEvent(deps: EventDeps, channel: ChannelRow, row: EventRow, signal: AbortSignal): Promise<void> {
  const outcome = await act(deps, channel, row, signal).catch((error: unknown) => failed(deps, row, error))
  const isTooLate = deps.now().getTime() - Date.parse(row.created_at) > replyWithinMs
  if (outcome.kind === 'later' && !isTooLate) {
    await postponeEvent(deps.db, row, { reason: outcome.reason, until: new Date(deps.now().getTime() + tryAgainMs) })
    return
  }
  await deps.db.transaction().execute(async (trx) => {
    if (outcome.kind === 'done') return finishEvent(trx, row, { status: 'done', reason: null })
    if (row.payload.kind === 'prompt') await deleteUnstartedThread(trx, channel.channel_id, row.thread_key)
    if (outcome.kind === 'later')
      await replyToAuthor(deps, trx, channel, row, line('That did not work: ', outcome.reason, ' Please try again.'))
    await finishEvent(trx, row, { status: 'refused', reason: outcome.reason })
  })
}

function act(deps: EventDeps, channel: ChannelRow, row: EventRow, signal: AbortSignal): Promise<EventOutcome> {
  const { payload } = row
  switch (payload.kind) {
    case 'prompt':
      return promptFromChat(deps, { channel, row, payload })
    case 'command':
      return answerCommand(deps, { channel, row, payload })
    case 'action':
      return handleMergeButton(deps, { channel, row, payload }, signal)
    case 'answer':
      return handleAnswerButton(deps, { channel, row, payload })
    default:
      return payload satisfies never
  }
}

/** The failed attempt may have done part of the work, so it is retried with the same ids. */
async function failed(deps: EventDeps, row: EventRow, error: unknown): Promise<EventOutcome> {
  if (error instanceof ServiceError && errorClass(error.code) === 'unavailable')
    return { kind: 'later', reason: error.message }
  deps.log.warn({ err: error, event: row.delivery_id }, 'chat event failed; retrying')
  return { kind: 'later', reason: 'The server failed.' }
}
