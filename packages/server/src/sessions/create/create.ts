import { planLimits, ServiceError } from '@svc/contract'
import type { Repository } from '@svc/git'
import { requireHome } from '../../projects/home-store.ts'
import { readManifestAt } from '../../projects/manifest.ts'
import { openRepository } from '../../projects/repository.ts'
import { holdLiveProject, type ProjectRow } from '../../projects/store.ts'
import { redactorFor } from '../../secrets/redactor-for.ts'
import { recordAudit } from '../../audit/record.ts'
import { boundSession, type Caller } from '../../auth/actor.ts'
import { notFound } from '../../auth/allow.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { requireDiskRoom } from '../../storage/disk-watch.ts'
import '../../failpoint.ts'
import { agentNamed, requireAgent } from '../agents.ts'
import { requireModelChoice } from '../../model-catalog/require-model.ts'
import { auditOf } from '../audit.ts'
import { requireAttachmentQuota } from '../attachments/ingest.ts'
import { insertAttachments, type StoredAttachment } from '../attachments/store.ts'
import { baseTip, cutSessionBranch } from './branch.ts'
import { type Continued, findContinued } from './continue-from.ts'
import { hashOfRequest, refuseBranch, type RequestedSession, sessionOfChosenId, sessionIdTaken } from './chosen-id.ts'
import { countAgentStart, parentageOf, refuseTooManyDescendants } from '../descendant-store.ts'
import { requireSessionStorage } from '../storage-quota.ts'
import {
  countLiveLocked,
  deleteSessionRow,
  findSessionRequestedAs,
  getSession,
  insertSession,
  lockChosenId,
  lockPlannedId,
  lockSession,
  type SessionWithSandbox,
} from '../store.ts'
import { insertPrompt } from '../conversation/prompt-store.ts'
import { dropCarriedWork, insertCarriedWork, keepCarriedWork } from '../unfinished-work/carried-work.ts'
import { adoptWarm } from '../warm/claim.ts'
import type { InForce } from '../refresh/in-force.ts'
import { inForceAt } from '../refresh/runtime-files.ts'
import { planWarm, type WarmPlan } from '../warm/plan.ts'
import { takeWarm } from '../warm/store.ts'

export type CreateSessionDeps = Pick<
  Deps,
  | 'db'
  | 'config'
  | 'home'
  | 'disk'
  | 'keyring'
  | 'localLocks'
  | 'replicas'
  | 'redaction'
  | 'now'
  | 'log'
  | 'newId'
  | 'instanceId'
  | 'sessions'
  | 'warm'
>

interface NewSession extends RequestedSession {
  metadata?: object | undefined
  branch_already_created?: boolean | undefined
  /** A `session_id` of the caller takes precedence. Such a session takes no warm sandbox, which has its own session id. */
  sessionId: string
  /** The parent session, for callers that are not bound to it, such as triggers. */
  parentSessionId?: string | null
  /** A further limit of the caller. Runs while the account is locked, so that its counts are exact. */
  requireMore?: (trx: DbOrTransaction) => Promise<void>
}

/** Choices that the repository makes for a new session. */
interface Choices {
  agentName: string
  model: string | null
  plan: WarmPlan | null
  inForce: InForce | null
  promptName: string | null
  continued: Continued | null
}

/**
 * Inserts the row before it creates the branch. A refused branch deletes the row again; after a crash in between, the
 * reconciler creates the branch.
 */
export async function createSession(deps: CreateSessionDeps, input: NewSession): Promise<SessionWithSandbox> {
  const { project, caller, session_id: chosen, attachments = [] } = input
  const plannedId = chosen ?? input.sessionId
  const find = () =>
    chosen === undefined
      ? findSessionRequestedAs(deps.db, project.project_id, plannedId)
      : sessionOfChosenId(deps, chosen, input)
  const earlier = await find()
  if (earlier !== null) return earlier
  await requireSessionStorage(deps, project)
  await requireAttachmentQuota(deps, project, plannedId, attachments)
  const repository = await openRepository(deps, project)
  const { from } = input
  const continued = from === undefined ? null : await findContinued(deps, { project, caller, repository, from })
  const sha = continued?.startSha ?? (await baseTip(repository, input.base_ref ?? project.default_branch))
  const isCut = input.branch_already_created === true
  const refusal = chosen === undefined ? null : await refuseBranch(repository, { branch: chosen, isThere: isCut })
  if (refusal !== null) {
    // Another request may have created the session and its branch meanwhile.
    const madeSince = await find()
    if (madeSince !== null) return madeSince
    throw refusal
  }
  const choices = await choose(deps, repository, input, { sha, continued })
  await failpoint('session.create.before_row')
  const claim = Promise.withResolvers<string | null>()
  try {
    const making = { ...choices, plannedId, sha, claim: claim.promise }
    const sessionId = await deps.db.transaction().execute((trx) => insert(deps, trx, input, making))
    if (sessionId === null) return (await find()) ?? gone()
    await failpoint('session.create.after_row')
    try {
      if (!isCut) await cutSessionBranch(deps, { project, repository }, { branch: sessionId, sha })
      if (choices.continued?.work) await keepCarriedWork(deps, { project, sessionId, work: choices.continued.work })
    } catch (error) {
      await deps.db.transaction().execute((trx) => deleteSessionRow(trx, sessionId, caller.actor))
      if (choices.continued?.work) await dropCarriedWork(deps, { project, sessionId })
      throw error
    }
    await failpoint('session.create.after_branch')
    // The row is there, so the reconciler of another home goes on with the session.
    await requireHome(deps, project)
    claim.resolve(sha)
    return (await getSession(deps.db, project.project_id, sessionId)) ?? gone()
  } finally {
    // Changes nothing once it was cut.
    claim.resolve(null)
  }
}

/**
 * Agents, skills and the manifest come from the default branch, whatever the base branch: only its content was merged by a
 * person.
 */
async function choose(
  deps: CreateSessionDeps,
  repository: Repository,
  input: NewSession,
  { sha, continued }: { sha: string; continued: Continued | null },
): Promise<Choices> {
  const { project, base_ref: baseRef = project.default_branch } = input
  const agentName = agentNamed(input.agent_name ?? continued?.session.agent_name)
  const isDefault = continued === null && baseRef === project.default_branch
  const commit = isDefault ? sha : await baseTip(repository, project.default_branch)
  const manifest = await readManifestAt(repository, commit)
  const agent = await requireAgent(repository, { sha: commit, configDir: manifest.runtime.config_dir, agentName })
  const chosenModel = input.model ?? continued?.session.model
  const model = chosenModel ?? agent.model ?? manifest.runtime.model ?? null
  await requireModelChoice(deps, {
    model,
    from: chosenModel ? 'the session' : agent.model ? `the agent ${agentName}` : 'svc.toml ([runtime] model)',
    needed: Boolean(input.initial_prompt?.trim()),
  })
  // A warm sandbox has the newest commit of the default branch.
  const canBeWarm = input.session_id === undefined && continued === null && deps.warm.isOn
  const plan = canBeWarm ? await planWarm(deps, repository, { project, commit, model }) : null
  const inForce = plan === null ? null : await inForceAt(repository, plan.commit, plan.manifest)
  const promptName =
    input.name === undefined ? await nameFromPrompt(deps, project, input.initial_prompt, input.caller) : null
  return { agentName, model, plan, inForce, promptName, continued }
}

/** Null when another caller made the session, or used the chosen id, meanwhile. */
async function insert(
  deps: CreateSessionDeps,
  trx: DbOrTransaction,
  input: NewSession,
  chosenFor: Choices & { plannedId: string; sha: string; claim: Promise<string | null> },
): Promise<string | null> {
  const { plannedId, sha, agentName, model, plan, inForce, promptName, continued, claim } = chosenFor
  const { project, caller, session_id: chosen, attachments = [], initial_prompt = null } = input
  const { project_id, account_id } = project
  if (!(await holdLiveProject(trx, project_id))) throw notFound('project')
  const isFree = chosen === undefined ? lockPlannedId(trx, project_id, plannedId) : lockChosenId(trx, chosen)
  if (!(await isFree)) return null
  if (continued !== null && (await lockSession(trx, continued.session.session_id, 'share')) === null)
    throw notFound('session')
  const parentage = await parentageOf(trx, project, input.parentSessionId ?? boundSession(caller.actor))
  await refuseTooManySessions(deps, trx, account_id)
  await refuseTooManyDescendants(trx, { session_id: plannedId, ...project, ...parentage })
  await countAgentStart(trx, { ...project, ...parentage })
  await input.requireMore?.(trx)
  const wanted = { projectId: project_id, instanceId: deps.instanceId, commit: sha }
  const warm = plan === null ? null : await takeWarm(trx, { ...wanted, fingerprint: plan.fingerprint })
  const sessionId = warm?.session_id ?? plannedId
  const base_ref = input.base_ref ?? continued?.session.base_ref ?? project.default_branch
  const isInBoot = attachments.length === 0 && continued === null
  await insertSession(
    trx,
    {
      session_id: sessionId,
      account_id,
      project_id,
      name: input.name ?? promptName ?? nameWithoutPrompt(sessionId, continued),
      branch_name: sessionId,
      base_ref,
      agent_name: agentName,
      model,
      status: 'provisioning',
      initial_prompt: isInBoot ? initial_prompt : null,
      created_by: caller.actor.user_id,
      metadata: JSON.stringify(input.metadata ?? {}),
      asked_as: warm === null ? null : plannedId,
      request_sha256: chosen === undefined ? null : hashOfRequest(input),
      ...(warm === null ? {} : { next_sandbox_id: warm.sandbox_id }),
      ...parentage,
      ...columnsOf(continued),
    },
    caller.actor,
  )
  if (!isInBoot && initial_prompt !== null) await insertFirstPrompt(trx, { ...input, sessionId, attachments })
  if (continued?.work) await insertCarriedWork(trx, { sessionId, work: continued.work, at: deps.now() })
  if (warm !== null && inForce !== null) await adoptWarm(deps, trx, { warm, caller, inForce })
  const continues = continued === null ? {} : { continues: continued.session.session_id }
  const after = { base_ref, agent_name: agentName, model: input.model ?? null, ...continues }
  await recordAudit(trx, caller, auditOf({ ...project, session_id: sessionId }, 'create', { after }))
  if (warm !== null) deps.sessions.expectClaim(sessionId, claim)
  return sessionId
}

function gone(): never {
  throw new ServiceError('conflict', 'The session was deleted while it was being created.')
}

const nameMax = 200

function nameWithoutPrompt(sessionId: string, continued: Continued | null): string {
  if (continued === null) return `Session ${sessionId.slice(0, 8)}`
  return `Branch of ${continued.session.name}`.slice(0, nameMax).toWellFormed()
}

function columnsOf(continued: Continued | null) {
  if (continued === null) return {}
  const { session, messageId, startSha } = continued
  return { continues_session_id: session.session_id, continues_message_id: messageId, start_sha: startSha }
}

/**
 * A prompt with attachments does not fit in the boot environment, and one that continues another session waits for its
 * work, so they are delivered like later prompts.
 */
async function insertFirstPrompt(
  trx: DbOrTransaction,
  input: NewSession & { attachments: StoredAttachment[] },
): Promise<void> {
  const of = { session_id: input.sessionId, prompt_id: input.sessionId }
  const isNew = await insertPrompt(trx, {
    ...of,
    text: input.initial_prompt ?? '',
    status: 'accepted',
    created_by: input.caller.actor.user_id,
  })
  if (!isNew) throw sessionIdTaken()
  await insertAttachments(trx, of, input.attachments)
}

/** Throws at the limit of live sessions. Locks the account until the transaction ends. */
export async function refuseTooManySessions(
  deps: Pick<Deps, 'config' | 'disk'>,
  trx: DbOrTransaction,
  accountId: string,
) {
  requireDiskRoom(deps)
  const { active, plan } = await countLiveLocked(trx, accountId)
  const limit = deps.config.sessionLimit ?? planLimits[plan]
  if (limit === null || active < limit) return
  throw new ServiceError(
    'concurrent_session_limit',
    `${active} of ${limit === 1 ? '1 session is' : `${limit} sessions are`} live, so no more can start.`,
    {
      hint: 'Stop one with `svc sessions stop <id>`, or wait until one is idle.',
      detail: { limit, active_sessions: active },
    },
  )
}

/**
 * The first line of the prompt, redacted. An agent that starts a session reads its name, so the secrets of the agent's own
 * session are redacted too.
 */
async function nameFromPrompt(
  deps: CreateSessionDeps,
  project: ProjectRow,
  prompt: string | undefined,
  author: Caller,
) {
  if (prompt === undefined || prompt.trim() === '') return null
  const redactor = await redactorFor(deps, project, author)
  const line = redactor.text(prompt).trim().split('\n')[0]?.trim()
  if (!line) return null
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`
}
