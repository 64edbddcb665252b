/** Sessions with an id from the caller. The id is free or belongs to an earlier try; other owners are not revealed. */
import { createHash } from 'node:crypto'
import { type BodyOf, type createSessionRoute, ServiceError } from '@svc/contract'
import { readTips, type Repository } from '@svc/git'
import { boundSession, type Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { unreachable } from '../../projects/repository.ts'
import { agentNamed } from '../agents.ts'
import type { StoredAttachment } from '../attachments/store.ts'
import { getSessionById, isSpent, type SessionWithSandbox } from '../store.ts'

export interface RequestedSession extends Omit<
  NonNullable<BodyOf<typeof createSessionRoute>>,
  'attachments' | 'metadata' | 'branch_already_created'
> {
  project: ProjectRow
  caller: Caller
  attachments?: StoredAttachment[]
}

/** The session of an earlier try; null when the id is free. */
export async function sessionOfChosenId(
  deps: Pick<Deps, 'db'>,
  sessionId: string,
  requested: RequestedSession,
): Promise<SessionWithSandbox | null> {
  const row = await getSessionById(deps.db, sessionId)
  if (row === null) {
    if (await isSpent(deps.db, sessionId)) throw sessionIdTaken()
    if (sessionId === requested.project.default_branch) throw defaultBranch()
    return null
  }
  const { actor } = requested.caller
  const isTheirs =
    row.project_id === requested.project.project_id &&
    row.created_by === actor.user_id &&
    row.parent_session_id === boundSession(actor)
  if (!isTheirs) throw sessionIdTaken()
  if (!row.request_sha256?.equals(hashOfRequest(requested)))
    throw new ServiceError('conflict', 'You already created this session with a different request.', {
      hint: 'Leave session_id out, or send a new random UUID.',
      detail: {
        issues: [
          {
            path: 'session_id',
            message: 'was used with another name, agent, base, session to continue from, prompt, model or attachments',
          },
        ],
      },
    })
  return row
}

export function sessionIdTaken(): ServiceError {
  return new ServiceError('conflict', 'This session id is taken.', {
    hint: 'Leave session_id out, or send a new random UUID.',
    detail: { issues: [{ path: 'session_id', message: 'is taken' }] },
  })
}

function defaultBranch(): ServiceError {
  return new ServiceError('unprocessable', 'This is the default branch, which only merges write.', {
    hint: 'Leave session_id out, or send a new random UUID: the session then works on a branch of its own.',
    detail: { issues: [{ path: 'session_id', message: 'is the name of the default branch' }] },
  })
}

/** Stored with the session, because the name, the agent and the redacted prompt may change later. */
export function hashOfRequest(requested: RequestedSession): Buffer {
  const { name = null, initial_prompt = null, model = null, attachments = [] } = requested
  const files = attachments.map(({ name, content }) => [name, sha256(content).toString('hex')])
  const baseRef = requested.base_ref ?? requested.project.default_branch
  const from = requested.from === undefined ? [] : [requested.from.session_id, requested.from.message_id ?? null]
  return sha256(
    JSON.stringify([name, agentNamed(requested.agent_name), baseRef, initial_prompt, model, files, ...from]),
  )
}

const sha256 = (of: string | Buffer) => createHash('sha256').update(of).digest()

/** The error when the branch exists and should not, or the reverse. An unexpected branch may hold the work of others. */
export async function refuseBranch(
  repository: Repository,
  { branch, isThere }: { branch: string; isThere: boolean },
): Promise<ServiceError | null> {
  const found = await readTips(repository, [branch], {})
  if (found.kind === 'unreachable') throw unreachable(found.reason)
  if (found.tips.has(branch) === isThere) return null
  if (isThere)
    return new ServiceError('unprocessable', `The repository has no branch ${JSON.stringify(branch)}.`, {
      hint: 'Push that branch first, or omit branch_already_created to create it from the base branch.',
      detail: { ref: branch, issues: [{ path: 'branch_already_created', message: 'names a branch that is missing' }] },
    })
  return new ServiceError('conflict', `The repository already has a branch ${JSON.stringify(branch)}.`, {
    hint: 'Send branch_already_created: true to work on it, or choose another session_id.',
    detail: { ref: branch, issues: [{ path: 'session_id', message: 'is the name of a branch that exists' }] },
  })
}
