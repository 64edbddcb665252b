/** Handles the merge button of a card: merges the commit that the card showed. */
import type { ServiceError } from '@svc/contract'
import { mergeChangeRequest } from '../../change-requests/merge/merge.ts'
import { getProject } from '../../projects/store.ts'
import { invalidateCard } from '../updates/card-store.ts'
import type { ChannelPayload } from '../ingress/incoming.ts'
import { line, type Message } from '../outbox/message.ts'
import { enqueueMessage } from '../outbox/outbox-store.ts'
import { replyWithRefusal } from '../outbox/ephemeral-reply.ts'
import { requireLinkedUser } from './require-linked-user.ts'
import type { ChannelEvent, EventDeps, EventOutcome } from '../ingress/channel-event.ts'

type Payload = ChannelPayload & { kind: 'action' }

export async function handleMergeButton(
  deps: EventDeps,
  event: ChannelEvent<Payload>,
  signal: AbortSignal,
): Promise<EventOutcome> {
  const { channel, row, payload } = event
  const user = await requireLinkedUser(deps, event, 'Nothing was merged.')
  if (user.kind !== 'linked') return user
  const project = await getProject(deps.db, channel.project_id)
  if (project === null) return { kind: 'refused', reason: 'The project was deleted.' }
  try {
    const merged = await mergeChangeRequest(deps, {
      project,
      caller: user.caller,
      crId: payload.cr_id,
      idempotencyKey: `chat ${row.planned_id}`,
      expected_head_sha: payload.head_sha,
      signal,
    })
    const { number, base_ref } = merged.change_request
    const sha = merged.merge.merge_commit_sha.slice(0, 7)
    const words = [
      { person: payload.author.userId },
      ` merged #${number} into `,
      { code: base_ref },
      ' as ',
      { code: sha },
    ]
    await deps.db.transaction().execute(async (trx) => {
      await enqueueMessage(deps, trx, channel, {
        message_key: `merged ${payload.cr_id}`,
        kind: 'reply',
        thread_key: payload.thread_key,
        body: { ...line(...words), summary: `#${number} was merged into ${base_ref}` },
      })
      await invalidateCard(trx, channel.channel_id, payload.cr_id)
    })
    return { kind: 'done' }
  } catch (error) {
    const outcome = await replyWithRefusal(deps, event, error, mergeRefusal)
    // Refresh the card: it shows an outdated state.
    await invalidateCard(deps.db, channel.channel_id, payload.cr_id)
    return outcome
  }
}

const filesShown = 5

function mergeRefusal(error: ServiceError): Message {
  const nothing = 'Nothing was merged: '
  if (error.code === 'head_moved')
    return line(
      nothing,
      'the branch moved since the card was posted. The card now shows its latest commit; review it, then press again.',
    )
  if (error.code === 'merge_conflict') {
    const files = (error.detail.conflicts as string[] | undefined) ?? []
    const more = files.length > filesShown ? ` and ${files.length - filesShown} more` : ''
    return line(nothing, 'it conflicts with its base in ', files.slice(0, filesShown).join(', '), `${more}.`)
  }
  return line(nothing, error.message, error.hint === null ? '' : ` ${error.hint}`)
}
