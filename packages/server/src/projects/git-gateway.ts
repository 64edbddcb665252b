/** The git remote of every project: sandboxes clone from it and push to it, and users may point their git clients at it. */
import { cloneCredentialPrefix, type ErrorBody, readCredentialPrefix, ServiceError } from '@svc/contract'
import {
  allowOnlyBranch,
  packsOfPush,
  type PushGate,
  type PushInspector,
  isZero,
  type PushQuota,
  readTips,
  type RefUpdate,
  type Repository,
  serveGateway,
} from '@svc/git'
import { recordAudits } from '../audit/record.ts'
import { type Actor, boundSession, type Caller } from '../auth/actor.ts'
import { allow, type AuthorizedProject, notFound, refuseByPath } from '../auth/allow.ts'
import {
  actorOfSandboxCredential,
  actorOfToken,
  projectOfReadCredential,
  unauthenticated,
} from '../auth/credentials.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import type { App } from '../http/mount.ts'
import { orDisconnected, replyError } from '../http/reply-error.ts'
import { type AppContext, clientAddress } from '../http/request-info.ts'
import { acknowledge, recordMissing } from './acknowledge.ts'
import { eventsOfPush } from './audit-push.ts'
import { writeAtHome } from './home-store.ts'
import { pushQuota, requireFit } from './quotas.ts'
import { requestPoll } from './poll-store.ts'
import { openRepository } from './repository.ts'
import { getProject } from './store.ts'

const services = { 'info/refs': 'GET', 'git-upload-pack': 'POST', 'git-receive-pack': 'POST' } as const

/** Parts of a push that belong to resources which projects must not import. */
export interface PushParts {
  /** Searches a push for secrets, which projects may not read. */
  inspect: (project: AuthorizedProject, repository: Repository, sessionId: string | null) => PushInspector
  /** Bytes of unfinished work in the store. */
  unfinishedBytes: (projectId: string) => Promise<number>
}

export function gitGatewayRoutes(app: App, deps: Deps, parts: PushParts): void {
  for (const service of Object.keys(services) as (keyof typeof services)[]) {
    app.on(services[service], `/v1/projects/:projectId/git/${service}`, async (c) => {
      try {
        return await serve(deps, c, service, parts)
      } catch (error) {
        const about = { id: c.get('requestId'), method: c.req.method, path: c.req.path }
        const answer = replyError(orDisconnected(error, c.req.raw.signal), about, deps)
        return isGitClient(c.req.header('user-agent')) ? inLines(challenge(answer)) : challenge(answer)
      }
    })
  }
}

async function serve(deps: Deps, c: AppContext, path: keyof typeof services, parts: PushParts): Promise<Response> {
  const url = new URL(c.req.url)
  const pushes = path === 'git-receive-pack' || url.searchParams.get('service') === 'git-receive-pack'
  const token = tokenOf(c.req.header('authorization') ?? null)
  if (token.startsWith(readCredentialPrefix)) return read(deps, c, { path, url, pushes, token })
  const actor = await gitActor(deps, token)
  refuseByPath(actor, c.req.path)
  const { project } = await allow(deps, {
    access: pushes ? 'project-write' : 'project-read',
    actor,
    projectId: c.req.param('projectId'),
    // The gate checks its branches.
    sessionId: null,
  })
  if (project === null) throw unauthenticated('A credential is required.')
  const repository = await openRepository(deps, project)
  const quota =
    path === 'git-receive-pack' ? pushQuota(deps, project, await parts.unfinishedBytes(project.project_id)) : null
  if (quota !== null) await refuseBeforehand(deps, c, { project, repository, quota })
  if (pushes && path === 'info/refs' && repository.remote === null && deps.home !== null)
    await recordMissing(deps, { project, store: repository })
  return serveGateway(repository, gitRequest(c, path, url), gateFor(actor, project, repository), {
    inspect: parts.inspect(project, repository, boundSession(actor)),
    landed: () =>
      requestPoll(deps.db, project.project_id).catch((error: unknown) =>
        deps.log.warn(
          { err: error, project_id: project.project_id },
          'failed to request a poll after a push; a later poll finds its branches',
        ),
      ),
    ...acknowledging(deps, { actor, requestId: c.get('requestId'), address: clientAddress(c) }, project, repository),
    ...(quota === null ? {} : { quota }),
    ...(mayForce(actor) ? { allowForce: true, allowDelete: true } : {}),
  })
}

/** A forced push or a deletion takes commits away. Only a person may do that; other callers add. */
const mayForce = (actor: Actor): boolean => actor.kind === 'user'

/**
 * The copy on another server gets the objects before a branch moves, so a push that it does not get changes nothing. A
 * server that was paused while its project moved must not report a push as accepted: the new home does not have it.
 */
function acknowledging(deps: Deps, caller: Caller, project: AuthorizedProject, repository: Repository) {
  /** In the transaction that acknowledges the push. */
  const auditing = async (updates: RefUpdate[]) => {
    const events = await eventsOfPush(deps, { project, repository, isForward: !mayForce(caller.actor) }, updates)
    return (db: DbOrTransaction) => recordAudits(db, caller, events)
  }
  if (repository.remote !== null)
    return {
      acknowledge: async (updates: RefUpdate[]) => refusalOf(writeAtHome(deps, project, await auditing(updates))),
    }
  const whileWaiting = (say: (line: string) => void) => (reason: string) =>
    say(`Waiting for the copy of this project on another server: ${reason}`)
  const acknowledged = async (updates: RefUpdate[], say: (line: string) => void) => {
    const refs = updates.map(({ ref, oldSha }) => ({ ref, old: isZero(oldSha) ? null : oldSha }))
    const onWait = whileWaiting(say)
    const write = await auditing(updates)
    return refusalOf(acknowledge(deps, { project, store: repository, refs, onWait }, write))
  }
  if (deps.home === null) return { acknowledge: acknowledged }
  return {
    prepare: ({ repo, updates }: Parameters<PushInspector>[0], say: (line: string) => void) => {
      const commits = updates.map(({ newSha }) => newSha).filter((sha) => !isZero(sha))
      const files = { commits, read: (has: string[]) => packsOfPush(repo, { commits, has }) }
      return refusalOf(deps.replicas.send(project, repo, commits, { files, onWait: whileWaiting(say) }))
    },
    acknowledge: acknowledged,
  }
}

async function refusalOf(done: Promise<unknown>): Promise<string | null> {
  try {
    await done
    return null
  } catch (error) {
    if (error instanceof ServiceError) return `${error.message} Push again.`
    throw error
  }
}

/** git shows its users the text of a status report, but only the number of an HTTP error. Other clients read the error. */
async function refuseBeforehand(
  deps: Pick<Deps, 'config' | 'disk'>,
  c: AppContext,
  { project, repository, quota }: { project: AuthorizedProject; repository: Repository; quota: PushQuota },
): Promise<void> {
  if (c.req.header('accept')?.includes('git-receive-pack-result')) return
  await requireFit(deps, { project, repository, quota, bytes: Number(c.req.header('content-length') ?? 0) })
}

function gitRequest(c: AppContext, path: keyof typeof services, url: URL) {
  const { headers, body, signal } = c.req.raw
  return { method: c.req.method, path, query: url.searchParams, headers, body, signal }
}

/** A warm sandbox without a session: it reads one project, writes nothing, and acts for no user. */
async function read(
  deps: Deps,
  c: AppContext,
  request: { path: keyof typeof services; url: URL; pushes: boolean; token: string },
): Promise<Response> {
  const projectId = await projectOfReadCredential(deps, request.token)
  const project = projectId === c.req.param('projectId') ? await getProject(deps.db, projectId) : null
  if (project === null || request.pushes) throw notReadable()
  const gate: PushGate = () => Promise.resolve('This credential is read-only.')
  return serveGateway(await openRepository(deps, project), gitRequest(c, request.path, request.url), gate, {})
}

function notReadable(): ServiceError {
  return new ServiceError('forbidden', 'This credential does not read this repository, or is read-only.')
}

const gitPath = /^\/v1\/projects\/[^/?#]+\/git\/(?:info\/refs|git-upload-pack|git-receive-pack)(?:[?#]|$)/

export const isGitPath = (path: string): boolean => gitPath.test(path)

/** The error for a caller who may not know that the project exists, where the request itself can't be served any more. */
export async function refusalOfStranger(deps: Deps, authorization: string | null): Promise<unknown> {
  try {
    const token = tokenOf(authorization)
    if (token.startsWith(readCredentialPrefix)) return notReadable()
    await gitActor(deps, token)
    return notFound('project')
  } catch (error) {
    return error
  }
}

const noPassword = ['', 'x-oauth-basic']

/** git sends Basic. The token is the password, under any user name; or the user name without a password, as git hosts accept it. */
function tokenOf(authorization: string | null): string {
  const match = authorization === null ? null : /^Basic ([A-Za-z0-9+/=]{1,2048})$/i.exec(authorization.trim())
  const pair = match === null ? '' : Buffer.from(match[1]!, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  const [username, password] = [pair.slice(0, Math.max(0, colon)), pair.slice(colon + 1)]
  const token = noPassword.includes(password) ? username : password
  if (colon < 0 || token === '')
    throw unauthenticated('git must send a credential.', 'Use any user name, and your svc_pat_ token as the password.')
  return token
}

async function gitActor(deps: Deps, token: string): Promise<Actor> {
  return token.startsWith(cloneCredentialPrefix)
    ? actorOfSandboxCredential(deps, 'clone', token)
    : actorOfToken(deps, token)
}

/** An agent may only create or fast-forward its session's branch; a user may write every branch. Only merges write the default branch, whoever pushes. */
function gateFor(actor: Actor, project: AuthorizedProject, repository: Repository): PushGate {
  const main = `refs/heads/${project.default_branch}`
  const mergedOnly = `${project.default_branch} is written by merged change requests only. Push another branch, then: svc cr open --title "..." --head <branch>`
  if (actor.kind !== 'user' && actor.session_id !== null) {
    const ownBranch = allowOnlyBranch(actor.session_id)
    // A session's branch can become the default branch after the session started.
    return (commands) => ownBranch(commands) ?? (commands.some(({ ref }) => ref === main) ? mergedOnly : null)
  }
  return async (commands) => {
    for (const { ref } of commands) {
      if (!ref.startsWith('refs/heads/') && !ref.startsWith('refs/tags/'))
        return `${ref} is reserved for the service; push to a branch.`
      if (ref !== main) continue
      if (project.managed && (await isEmpty(repository))) continue
      return mergedOnly
    }
    return null
  }
}

async function isEmpty(repository: Repository): Promise<boolean> {
  const tips = await readTips(repository, 'all', {})
  if (tips.kind === 'unreachable')
    throw new ServiceError('repository_unreachable', `The repository cannot be read: ${tips.reason}`)
  return tips.tips.size === 0
}

/** git asks for a credential only after a challenge for Basic. */
export function challenge(response: Response): Response {
  if (response.headers.has('www-authenticate')) response.headers.set('www-authenticate', 'Basic realm="svc"')
  return response
}

export const isGitClient = (agent: string | undefined): boolean => agent?.startsWith('git/') === true

/** An answer with an error in JSON, for git. */
export async function inLines(answer: Response): Promise<Response> {
  const { error, hint } = (await answer.json()) as ErrorBody
  return gitLines(hint === undefined ? [error] : [error, hint], answer)
}

/** git shows its user the lines of a plain text and nothing of JSON. */
export function gitLines(lines: string[], { status, headers }: { status: number; headers: HeadersInit }): Response {
  const answer = new Response(`${lines.join('\n')}\n`, { status, headers })
  answer.headers.set('content-type', 'text/plain; charset=utf-8')
  return answer
}
