/** Handles a message to the bot: the first in a thread starts a session, later ones are prompts to it. */
import { chatStartsPerMinuteMax, ServiceError } from '@svc/contract'
import { getDefaultBranch } from '../../projects/default-branch.ts'
import { getProject, type ProjectRow } from '../../projects/store.ts'
import { createSession } from '../../sessions/create/create.ts'
import { promptSession } from '../../sessions/conversation/prompt.ts'
import { outcomeOfPrompt } from '../../sessions/conversation/prompt-store.ts'
import { getSession } from '../../sessions/store.ts'
import { type ResolvedAuthor, resolveAuthor, callerFor } from '../links/author.ts'
import { countStarts } from '../ingress/inbox-store.ts'
import type { ChannelPayload } from '../ingress/incoming.ts'
import { line } from '../outbox/message.ts'
import { refuseAuthor, replyWithRefusal } from '../outbox/ephemeral-reply.ts'
import { getThread, setThread, type ThreadRow } from '../store.ts'
import { postStarting } from '../updates/post-session.ts'
import type { ChannelEvent, EventDeps, EventOutcome } from '../ingress/channel-event.ts'

type Payload = ChannelPayload & { kind: 'prompt' }
type Acting = ResolvedAuthor & { kind: 'linked' | 'unlinked' }

export async function promptFromChat(deps: EventDeps, event: ChannelEvent<Payload>): Promise<EventOutcome> {
  const { channel, row, payload } = event
  const acting = await resolveAuthor(deps, channel, payload.author)
  if (acting.kind === 'unavailable') return { kind: 'later', reason: acting.reason }
  if (acting.kind === 'refused') {
    // One refusal per thread and user, however often they write.
    const target = { author: payload.author, key: `refused ${row.thread_key}`, threadId: row.thread_key }
    return refuseAuthor(deps, channel, target, acting)
  }
  const project = await getProject(deps.db, channel.project_id)
  const thread = await getThread(deps.db, channel.channel_id, row.thread_key)
  if (project === null || thread === null) return { kind: 'refused', reason: 'The project or thread was deleted.' }
  const to = { project, thread, acting }
  try {
    return await (thread.told === null ? startSession(deps, event, to) : promptThread(deps, event, to))
  } catch (error) {
    const failure = thread.told === null ? 'No session was started: ' : 'The agent did not get this: '
    return replyWithRefusal(deps, event, error, ({ message, hint }) =>
      line(failure, message, hint === null ? '' : ` ${hint}`),
    )
  }
}

interface To {
  project: ProjectRow
  thread: ThreadRow
  acting: Acting
}

async function startSession(
  deps: EventDeps,
  { channel, row, payload: { text, author } }: ChannelEvent<Payload>,
  { project, thread, acting }: To,
): Promise<EventOutcome> {
  if ((await countStarts(deps.db, row)) > chatStartsPerMinuteMax)
    throw new ServiceError('limit_reached', `${chatStartsPerMinuteMax} sessions were started here within one minute.`, {
      hint: 'Try again in a minute.',
    })
  const seen = await getDefaultBranch(deps.db, project.project_id)
  const entry = seen?.manifest.channels.find(({ platform }) => platform === channel.platform)
  const { platform, workspace_id, conversation_id, channel_id } = channel
  const session = await createSession(deps, {
    project,
    caller: callerFor(acting, channel, row.delivery_id),
    sessionId: row.planned_id,
    initial_prompt: text,
    agent_name: entry?.agent ?? undefined,
    metadata: {
      channel: { channel_id, platform, workspace_id, conversation_id, thread: row.thread_key, author: author.userId },
    },
  })
  await deps.db.transaction().execute(async (trx) => {
    const begun = { session_id: session.session_id, started_by: acting.userId, chat_user_name: acting.name, told: '' }
    await setThread(trx, thread.thread_id, begun)
    await postStarting(deps, trx, { channel, project, session, thread: { ...thread, ...begun } })
  })
  deps.sessions.enqueue(session.session_id)
  return { kind: 'done' }
}

async function promptThread(
  deps: EventDeps,
  { channel, row, payload: { text } }: ChannelEvent<Payload>,
  { project, thread, acting }: To,
): Promise<EventOutcome> {
  const session = thread.session_id === null ? null : await getSession(deps.db, project.project_id, thread.session_id)
  if (session === null)
    throw new ServiceError('not_found', 'The session of this thread was deleted.', {
      hint: 'Mention me outside this thread to start another session.',
    })
  // An earlier attempt started the thread or sent the prompt, then crashed before it recorded that.
  const isBeginning = [session.session_id, session.asked_as].includes(row.planned_id)
  if (!isBeginning && (await outcomeOfPrompt(deps.db, row.planned_id)) === null)
    await promptSession(deps, {
      session,
      caller: callerFor(acting, channel, row.delivery_id),
      promptId: row.planned_id,
      text,
    })
  return { kind: 'done' }
}
