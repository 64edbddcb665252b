/** Buttons require a linked user. An unlinked user never acts as the user who connected the channel here. */
import type { Caller, UserActor } from '../../auth/actor.ts'
import type { ChannelPayload } from '../ingress/incoming.ts'
import type { ChannelEvent, EventDeps, EventOutcome } from '../ingress/channel-event.ts'
import { linkedCaller, resolveAuthor } from '../links/author.ts'
import { refuseAuthor } from '../outbox/ephemeral-reply.ts'

type Payload = ChannelPayload & { kind: 'action' | 'answer' }
type LinkedUser = { kind: 'linked'; caller: Caller<UserActor> } | Exclude<EventOutcome, { kind: 'done' }>

/** Replies privately in the thread when the user is refused. `skipped` is a sentence that names the skipped action. */
export async function requireLinkedUser(
  deps: EventDeps,
  { channel, row, payload: { author, thread_key } }: ChannelEvent<Payload>,
  skipped: string,
): Promise<LinkedUser> {
  const acting = await resolveAuthor(deps, { ...channel, allow_unlinked: false }, author)
  if (acting.kind === 'unavailable') return { kind: 'later', reason: acting.reason }
  if (acting.kind === 'linked') return { kind: 'linked', caller: linkedCaller(acting.userId, channel, row.delivery_id) }
  const refusal =
    acting.kind === 'refused' ? acting : ({ why: 'may-not-write', reason: 'Only linked users can do that.' } as const)
  return refuseAuthor(deps, channel, { author, key: row.delivery_id, threadId: thread_key }, refusal, `${skipped} `)
}
