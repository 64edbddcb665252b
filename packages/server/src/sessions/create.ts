import { planLimits, ServiceError } from '@svc/contract'
import type { Repository } from '@svc/git'
import { readManifestAt } from '../projects/manifest.ts'
import { openRepository } from '../projects/repository.ts'
import type { ProjectRow } from '../projects/store.ts'
import { redactorFor } from '../secrets/redactor-for.ts'
import { recordAudit } from '../audit/record.ts'
import { boundSession, type Caller } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { requireDiskRoom } from '../disk-watch.ts'
import '../failpoint.ts'
import { agentNamed, requireAgent } from './agents.ts'
import { requireModelChoice } from '../model-catalog/require-model.ts'
import { auditOf } from './audit.ts'
import { baseTip, cutSessionBranch } from './branch.ts'
import { countStart, parentageOf, requireRoomBelowRoot } from './descendants.ts'
import { requireRoomForSessions } from './kept-bytes.ts'
import {
  countLiveLocked,
  deleteSessionRow,
  findAskedAs,
  getSession,
  insertSession,
  type SessionWithSandbox,
} from './store.ts'
import { adoptWarm } from './warm-claim.ts'
import { planWarm } from './warm-plan.ts'
import { takeWarm } from './warm-store.ts'

export interface CreateSession {
  name?: string | undefined
  agent_name?: string | undefined
  base_ref?: string | undefined
  initial_prompt?: string | undefined
  model?: string | undefined
  metadata?: object | undefined
}

type CreateDeps = Pick<
  Deps,
  'db' | 'config' | 'disk' | 'keyring' | 'redaction' | 'now' | 'log' | 'newId' | 'instanceId' | 'keeper' | 'warm'
>

/** The row, then the branch: if the branch is refused the row goes again, and if we die in between the reconciler makes the branch. */
export async function createSession(
  deps: CreateDeps,
  input: CreateSession & {
    project: ProjectRow
    caller: Caller
    sessionId: string
    /** The session that asked for this one, when the caller is not bound to it: a trigger acts by itself. */
    parentSessionId?: string | null
    /** A limit of whoever starts it. Called with the account locked, so that what it counts is exact. */
    requireMore?: (trx: DbOrTransaction) => Promise<void>
  },
): Promise<SessionWithSandbox> {
  const { project, caller } = input
  const earlier = await findAskedAs(deps.db, project.project_id, input.sessionId)
  if (earlier !== null) return earlier
  await requireRoomForSessions(deps, project)
  const baseRef = input.base_ref ?? project.default_branch
  const agentName = agentNamed(input.agent_name)
  const repository = await openRepository(deps, project)
  const sha = await baseTip(repository, baseRef)
  // Agents, skills and the manifest are those of the default branch, wherever the session is cut: what is on another branch was merged by nobody.
  const merged = baseRef === project.default_branch ? sha : await baseTip(repository, project.default_branch)
  const manifest = await readManifestAt(repository, merged)
  const agent = await requireAgent(repository, { sha: merged, configDir: manifest.runtime.config_dir, agentName })
  const model = input.model ?? agent.model ?? manifest.runtime.model ?? null
  await requireModelChoice(deps, {
    model,
    from: input.model ? 'the session' : agent.model ? `the agent ${agentName}` : 'svc.toml ([runtime] model)',
    needed: Boolean(input.initial_prompt?.trim()),
  })
  const fingerprint = await fingerprintWanted(deps, repository, { project, baseRef, sha, model })
  const promptName = input.name === undefined ? await nameFromPrompt(deps, project, input.initial_prompt, caller) : null
  await failpoint('session.create.before_row')
  const { sessionId, isWarm } = await deps.db.transaction().execute(async (trx) => {
    const parentId = input.parentSessionId ?? boundSession(caller.actor)
    const parentage = await parentageOf(trx, project, parentId)
    await requireRoom(deps, trx, project.account_id)
    await requireRoomBelowRoot(trx, { session_id: input.sessionId, ...project, ...parentage })
    await countStart(trx, { ...project, ...parentage })
    await input.requireMore?.(trx)
    const wanted = { projectId: project.project_id, instanceId: deps.instanceId, commit: sha }
    const warm = fingerprint === null ? null : await takeWarm(trx, { ...wanted, fingerprint })
    const sessionId = warm?.session_id ?? input.sessionId
    await insertSession(
      trx,
      {
        session_id: sessionId,
        account_id: project.account_id,
        project_id: project.project_id,
        name: input.name ?? promptName ?? `Session ${sessionId.slice(0, 8)}`,
        branch_name: sessionId,
        base_ref: baseRef,
        agent_name: agentName,
        model,
        status: 'provisioning',
        error: null,
        initial_prompt: input.initial_prompt ?? null,
        initial_prompt_delivered_at: null,
        created_by: caller.actor.user_id,
        metadata: JSON.stringify(input.metadata ?? {}),
        asked_as: warm === null ? null : input.sessionId,
        ...parentage,
      },
      caller.actor,
    )
    if (warm !== null) await adoptWarm(deps, trx, { warm, caller })
    await recordAudit(
      trx,
      caller,
      auditOf({ ...project, session_id: sessionId }, 'create', {
        after: { base_ref: baseRef, agent_name: agentName, model: input.model ?? null },
      }),
    )
    return { sessionId, isWarm: warm !== null }
  })
  await failpoint('session.create.after_row')
  try {
    await cutSessionBranch(deps, repository, { branch: sessionId, sha })
  } catch (error) {
    await deps.db.transaction().execute((trx) => deleteSessionRow(trx, sessionId, caller.actor))
    throw error
  }
  await failpoint('session.create.after_branch')
  if (isWarm) deps.keeper.claims(sessionId, sha)
  const made = await getSession(deps.db, project.project_id, sessionId)
  if (made === null) throw new ServiceError('conflict', 'The session was deleted while it was being made.')
  return made
}

/** What a warm sandbox has to be made from to be this session's; null when none can be. */
async function fingerprintWanted(
  deps: CreateDeps,
  repository: Repository,
  input: { project: ProjectRow; baseRef: string; sha: string; model: string | null },
): Promise<string | null> {
  if (!deps.warm.isOn) return null
  const { project, baseRef, model } = input
  const commit = baseRef === project.default_branch ? input.sha : await baseTip(repository, project.default_branch)
  return (await planWarm(deps, repository, { project, commit, model })).fingerprint
}

/** Refuses when the account has as many live sessions as it may. Inside a transaction: the account stays locked until it ends. */
export async function requireRoom(
  deps: Pick<Deps, 'config' | 'disk'>,
  trx: DbOrTransaction,
  accountId: string,
): Promise<void> {
  requireDiskRoom(deps)
  const { active, plan } = await countLiveLocked(trx, accountId)
  const limit = deps.config.sessionLimit ?? planLimits[plan]
  if (limit === null || active < limit) return
  throw new ServiceError(
    'concurrent_session_limit',
    `${active} of ${limit} sessions are live, so no more can start now.`,
    {
      hint: 'Stop one with `svc sessions stop <id>`, or wait until one is idle.',
      detail: { limit, active_sessions: active },
    },
  )
}

/**
 * The prompt is delivered as it was typed; the name that lists show holds none of the secrets in it. An agent that starts a
 * session wrote the prompt and reads the name, so its prompt is searched for what the agent's own session was given.
 */
async function nameFromPrompt(
  deps: CreateDeps,
  project: ProjectRow,
  prompt: string | undefined,
  author: Caller,
): Promise<string | null> {
  if (prompt === undefined || prompt.trim() === '') return null
  const redactor = await redactorFor(deps, project, author)
  const line = redactor.text(prompt).trim().split('\n')[0]?.trim()
  if (!line) return null
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`
}
