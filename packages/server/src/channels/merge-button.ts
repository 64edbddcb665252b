/** The button of a card: a merge by whoever pressed it, of the commit their card showed. */
import { errorClass, ServiceError } from '@svc/contract'
import { mergeChangeRequest } from '../change-requests/merge.ts'
import { getProject } from '../projects/store.ts'
import { type ActsAs, actsAs, userActor } from './author.ts'
import { forgetCard } from './card-store.ts'
import type { EventRow } from './inbox-store.ts'
import type { ChannelPayload } from './incoming.ts'
import { line, type Message, type StoredMessage } from './message.ts'
import { want } from './outbox-store.ts'
import { sayTo, whisper } from './say.ts'
import type { ChannelRow } from './store.ts'
import type { WorkDeps, Worked } from './work.ts'

type Payload = ChannelPayload & { kind: 'action' }

export async function pressMerge(
  deps: WorkDeps,
  channel: ChannelRow,
  row: EventRow,
  payload: Payload,
  signal: AbortSignal,
): Promise<Worked> {
  // Whoever merges is somebody: the name of who connected the channel is not lent for that.
  const acting = await actsAs(deps, { ...channel, allow_unlinked: false }, payload.author)
  if (acting.kind === 'away') return { kind: 'later', reason: acting.reason }
  if (acting.kind !== 'linked') return refuse(deps, channel, row, payload, acting)
  const project = await getProject(deps.db, channel.project_id)
  if (project === null) return { kind: 'refused', reason: 'The project is gone.' }
  try {
    const merged = await mergeChangeRequest(deps, {
      project,
      caller: {
        actor: userActor(acting.userId),
        requestId: `${channel.platform} ${row.delivery_id}`.slice(0, 200),
        address: channel.platform,
      },
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
      await want(trx, {
        message_id: deps.newId(),
        channel_id: channel.channel_id,
        message_key: `merged ${payload.cr_id}`,
        kind: 'reply',
        thread_key: payload.thread_key,
        thread_id: payload.thread_key,
        body: { ...line(...words), summary: `#${number} was merged into ${base_ref}` },
      })
      await forgetCard(trx, channel.channel_id, payload.cr_id)
    })
    return { kind: 'done' }
  } catch (error) {
    if (!(error instanceof ServiceError) || ['unavailable', 'internal'].includes(errorClass(error.code))) throw error
    await sayTo(deps, deps.db, channel, row, trueOutcome(error))
    // The card is drawn anew: what it showed is not what is there.
    await forgetCard(deps.db, channel.channel_id, payload.cr_id)
    return { kind: 'refused', reason: `${error.code}: ${error.message}` }
  }
}

async function refuse(
  deps: WorkDeps,
  channel: ChannelRow,
  row: EventRow,
  { author, thread_key }: Payload,
  acting: Exclude<ActsAs, { kind: 'linked' | 'away' }>,
): Promise<Worked> {
  const reason = acting.kind === 'refused' ? acting.reason : 'Only linked people merge.'
  const body: StoredMessage = line('Nothing was merged. ', reason)
  if (acting.kind === 'refused' && acting.why === 'unlinked')
    body.invites = { workspaceId: author.workspaceId, chatUserId: author.userId }
  await whisper(deps, deps.db, channel, { author, key: row.delivery_id, threadId: thread_key }, body)
  return { kind: 'refused', reason }
}

const filesShown = 5

function trueOutcome(error: ServiceError): Message {
  const nothing = 'Nothing was merged: '
  if (error.code === 'head_moved')
    return line(
      nothing,
      'the branch has other commits than the card showed. The card shows them now; look, then press again.',
    )
  if (error.code === 'merge_conflict') {
    const files = (error.detail.conflicts as string[] | undefined) ?? []
    const more = files.length > filesShown ? ` and ${files.length - filesShown} more` : ''
    return line(nothing, 'it conflicts with its base in ', files.slice(0, filesShown).join(', '), `${more}.`)
  }
  return line(nothing, error.message, error.hint === null ? '' : ` ${error.hint}`)
}
