import { getProject } from '../../projects/store.ts'
import { answerQuestion } from '../../questions/answer.ts'
import { getQuestion } from '../../sessions/questions/store.ts'
import { getSession } from '../../sessions/store.ts'
import type { ChannelPayload } from '../ingress/incoming.ts'
import type { ChannelEvent, EventDeps, EventOutcome } from '../ingress/channel-event.ts'
import { replyWithRefusal } from '../outbox/ephemeral-reply.ts'
import { line } from '../outbox/message.ts'
import { getThread } from '../store.ts'
import { requireLinkedUser } from './require-linked-user.ts'

type Payload = ChannelPayload & { kind: 'answer' }

const skipped = 'Your answer was not sent to the agent.'

/** The session update job edits the message once the answer is recorded. */
export async function handleAnswerButton(deps: EventDeps, event: ChannelEvent<Payload>): Promise<EventOutcome> {
  const user = await requireLinkedUser(deps, event, skipped)
  if (user.kind !== 'linked') return user
  const found = await findAnswer(deps, event)
  if (found === null) return { kind: 'refused', reason: 'This thread has no such question.' }
  try {
    await answerQuestion(deps, { ...found, caller: user.caller, questionId: event.payload.question_id })
    return { kind: 'done' }
  } catch (error) {
    return replyWithRefusal(deps, event, error, ({ message }) => line(`${skipped} `, message))
  }
}

/** Accepts only a question of the session this thread belongs to: a forged button value cannot reach another session. */
async function findAnswer(deps: EventDeps, { channel, payload }: ChannelEvent<Payload>) {
  const { thread_key, question_id, option } = payload
  const project = await getProject(deps.db, channel.project_id)
  const thread = await getThread(deps.db, channel.channel_id, thread_key)
  if (project === null || thread?.session_id == null) return null
  const session = await getSession(deps.db, project.project_id, thread.session_id)
  const question = session === null ? null : await getQuestion(deps.db, session.session_id, question_id)
  const answer = (question?.options as { value: string }[] | undefined)?.[option]?.value
  return session === null || answer === undefined ? null : { project, session, answer }
}
