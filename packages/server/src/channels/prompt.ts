/** What somebody wrote to the bot: the first of a thread starts a session, every other is a prompt to it. */
import { chatStartsPerMinuteMax, errorClass, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { createSession } from '../sessions/create.ts'
import { promptSession } from '../sessions/prompt.ts'
import { getSession } from '../sessions/store.ts'
import { type ActsAs, actsAs, callerFor } from './author.ts'
import { countStarts, type EventRow } from './inbox-store.ts'
import type { ChannelPayload } from './incoming.ts'
import { line, type StoredMessage } from './message.ts'
import { sayTo, whisper } from './say.ts'
import { type ChannelRow, getThread, setThread, type ThreadRow } from './store.ts'
import { sayStarting } from './tell-session.ts'
import type { WorkDeps, Worked } from './work.ts'

type Payload = ChannelPayload & { kind: 'prompt' }
type Acting = ActsAs & { kind: 'linked' | 'unlinked' }

export async function promptFromChat(
  deps: WorkDeps,
  channel: ChannelRow,
  row: EventRow,
  payload: Payload,
): Promise<Worked> {
  const acting = await actsAs(deps, channel, payload.author)
  if (acting.kind === 'away') return { kind: 'later', reason: acting.reason }
  if (acting.kind === 'refused') return refuse(deps, channel, row, payload, acting)
  const project = await getProject(deps.db, channel.project_id)
  const thread = await getThread(deps.db, channel.channel_id, row.thread_key)
  if (project === null || thread === null) return { kind: 'refused', reason: 'The project or the thread is gone.' }
  const to = { project, thread, acting }
  try {
    return await (thread.told === null
      ? startSession(deps, channel, row, payload, to)
      : promptThread(deps, channel, row, payload, to))
  } catch (error) {
    if (!(error instanceof ServiceError) || ['unavailable', 'internal'].includes(errorClass(error.code))) throw error
    const what = thread.told === null ? 'No session was started: ' : 'The agent did not get this: '
    await sayTo(deps, deps.db, channel, row, line(what, error.message, error.hint === null ? '' : ` ${error.hint}`))
    return { kind: 'refused', reason: `${error.code}: ${error.message}` }
  }
}

/** Said once a thread to one person, whatever they go on writing there. */
async function refuse(
  deps: WorkDeps,
  channel: ChannelRow,
  row: EventRow,
  { author }: Payload,
  refused: ActsAs & { kind: 'refused' },
): Promise<Worked> {
  const body: StoredMessage = line(refused.reason)
  if (refused.why === 'unlinked') body.invites = { workspaceId: author.workspaceId, chatUserId: author.userId }
  await whisper(deps, deps.db, channel, { author, key: `refused ${row.thread_key}`, threadId: row.thread_key }, body)
  return { kind: 'refused', reason: refused.reason }
}

interface To {
  project: ProjectRow
  thread: ThreadRow
  acting: Acting
}

async function startSession(
  deps: WorkDeps,
  channel: ChannelRow,
  row: EventRow,
  { text, author }: Payload,
  { project, thread, acting }: To,
): Promise<Worked> {
  if ((await countStarts(deps.db, row)) > chatStartsPerMinuteMax)
    throw new ServiceError('limit_reached', `${chatStartsPerMinuteMax} sessions were started here within a minute.`, {
      hint: 'Ask again in a minute.',
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
    await sayStarting(deps, trx, { channel, project, session, thread: { ...thread, ...begun } })
  })
  deps.keeper.kick(session.session_id)
  return { kind: 'done' }
}

async function promptThread(
  deps: WorkDeps,
  channel: ChannelRow,
  row: EventRow,
  { text }: Payload,
  { project, thread, acting }: To,
): Promise<Worked> {
  const session = thread.session_id === null ? null : await getSession(deps.db, project.project_id, thread.session_id)
  if (session === null)
    throw new ServiceError('not_found', 'The session of this thread was deleted.', {
      hint: 'Mention me outside of it to start another.',
    })
  // An earlier try began the thread, or sent the prompt, and died before it could say so.
  const isBeginning = [session.session_id, session.asked_as].includes(row.planned_id)
  if (!isBeginning && !(await isAccepted(deps, row.planned_id)))
    await promptSession(deps, {
      session,
      caller: callerFor(acting, channel, row.delivery_id),
      promptId: row.planned_id,
      text,
    })
  return { kind: 'done' }
}

async function isAccepted(deps: Pick<Deps, 'db'>, promptId: string): Promise<boolean> {
  const row = await deps.db
    .selectFrom('session_prompts')
    .select('prompt_id')
    .where('prompt_id', '=', promptId)
    .executeTakeFirst()
  return row !== undefined
}
