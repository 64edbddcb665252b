/** The git remote of every project: what a sandbox clones from and pushes to, and what a user's own git client may use. */
import { cloneCredentialPrefix, readCredentialPrefix, ServiceError } from '@svc/contract'
import {
  allowOnlyBranch,
  overBeforehand,
  type PushGate,
  type PushInspector,
  type PushQuota,
  readTips,
  type Repository,
  serveGateway,
} from '@svc/git'
import { type Actor, boundSession } from '../auth/actor.ts'
import { allow, type AuthorizedProject, refuseByPath } from '../auth/allow.ts'
import {
  actorOfSandboxCredential,
  actorOfToken,
  projectOfReadCredential,
  unauthenticated,
} from '../auth/credentials.ts'
import type { Deps } from '../deps.ts'
import type { App } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import type { AppContext } from '../http/request-info.ts'
import { pushQuota, quotaExceeded, quotasOf } from './quotas.ts'
import { openRepository } from './repository.ts'
import { getProject } from './store.ts'

const services = { 'info/refs': 'GET', 'git-upload-pack': 'POST', 'git-receive-pack': 'POST' } as const

/** What a push needs of resources that a project does not know. */
export interface PushParts {
  /** What is looked for in a push; secrets are not a project's to know. */
  inspect: (project: AuthorizedProject, repository: Repository, sessionId: string | null) => PushInspector
  /** How much of the store is unfinished work of sessions. */
  unfinishedBytes: (projectId: string) => Promise<number>
}

export function gitGatewayRoutes(app: App, deps: Deps, parts: PushParts): void {
  for (const service of Object.keys(services) as (keyof typeof services)[]) {
    app.on(services[service], `/v1/projects/:projectId/git/${service}`, async (c) => {
      try {
        return await serve(deps, c, service, parts)
      } catch (error) {
        return challenge(replyError(error, { id: c.get('requestId'), method: c.req.method, path: c.req.path }, deps))
      }
    })
  }
}

async function serve(deps: Deps, c: AppContext, path: keyof typeof services, parts: PushParts): Promise<Response> {
  const url = new URL(c.req.url)
  const pushes = path === 'git-receive-pack' || url.searchParams.get('service') === 'git-receive-pack'
  const password = passwordOf(c.req.header('authorization') ?? null)
  if (password.startsWith(readCredentialPrefix)) return read(deps, c, { path, url, pushes, password })
  const actor = await gitActor(deps, password)
  refuseByPath(actor, c.req.path)
  const { project } = await allow(deps, {
    access: pushes ? 'project-write' : 'project-read',
    actor,
    projectId: c.req.param('projectId'),
    // The gate judges its branches.
    sessionId: null,
  })
  if (project === null) throw unauthenticated('This needs a credential.')
  const repository = await openRepository(deps, project)
  const quota =
    path === 'git-receive-pack' ? pushQuota(deps, project, await parts.unfinishedBytes(project.project_id)) : null
  if (quota !== null) await refuseBeforehand(deps, c, { project, repository, quota })
  return serveGateway(repository, gitRequest(c, path, url), gateFor(actor, project, repository), {
    inspect: parts.inspect(project, repository, boundSession(actor)),
    ...(quota === null ? {} : { quota }),
    ...(actor.kind === 'user' ? { allowForce: true, allowDelete: true } : {}),
  })
}

/** git shows its user what is in a report of its own, and of an answer with an error only the number. Other clients read the error. */
async function refuseBeforehand(
  deps: Pick<Deps, 'config'>,
  c: AppContext,
  { project, repository, quota }: { project: AuthorizedProject; repository: Repository; quota: PushQuota },
): Promise<void> {
  if (c.req.header('accept')?.includes('git-receive-pack-result')) return
  const over = await overBeforehand(repository, quota, Number(c.req.header('content-length') ?? 0))
  if (over?.kind === 'disk') throw new ServiceError('unavailable', quota.refusal(over))
  if (over !== null) throw quotaExceeded(over, quotasOf(deps.config, project))
}

function gitRequest(c: AppContext, path: keyof typeof services, url: URL) {
  const { headers, body, signal } = c.req.raw
  return { method: c.req.method, path, query: url.searchParams, headers, body, signal }
}

/** A sandbox that has no session yet fills itself: it reads one project, writes nothing, and is nobody. */
async function read(
  deps: Deps,
  c: AppContext,
  asked: { path: keyof typeof services; url: URL; pushes: boolean; password: string },
): Promise<Response> {
  const projectId = await projectOfReadCredential(deps, asked.password)
  const project = projectId === c.req.param('projectId') ? await getProject(deps.db, projectId) : null
  if (project === null || asked.pushes)
    throw new ServiceError('forbidden', 'This credential reads the repository of one project and nothing else.')
  const gate: PushGate = () => Promise.resolve('This credential only reads.')
  return serveGateway(await openRepository(deps, project), gitRequest(c, asked.path, asked.url), gate, {})
}

/** git sends Basic; the token is the password. */
function passwordOf(authorization: string | null): string {
  const match = authorization === null ? null : /^Basic ([A-Za-z0-9+/=]{1,2048})$/i.exec(authorization.trim())
  if (match === null)
    throw unauthenticated('git needs a credential here.', 'User name `x-access-token`, password your svc_pat_ token.')
  const [username, password] = splitOnce(Buffer.from(match[1]!, 'base64').toString('utf8'))
  if (username !== 'x-access-token')
    throw unauthenticated(
      'The user name has to be x-access-token.',
      'User name `x-access-token`, password your svc_pat_ token.',
    )
  return password
}

async function gitActor(deps: Deps, password: string): Promise<Actor> {
  return password.startsWith(cloneCredentialPrefix)
    ? actorOfSandboxCredential(deps, 'clone', password)
    : actorOfToken(deps, password)
}

function splitOnce(text: string): [string, string] {
  const colon = text.indexOf(':')
  return colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)]
}

/** An agent may create or fast-forward its session's branch and nothing else; a user every branch but the default one, which only a merge writes. */
function gateFor(actor: Actor, project: AuthorizedProject, repository: Repository): PushGate {
  if (actor.kind !== 'user' && actor.session_id !== null) return allowOnlyBranch(actor.session_id)
  return async (commands) => {
    for (const { ref } of commands) {
      if (!ref.startsWith('refs/heads/') && !ref.startsWith('refs/tags/'))
        return `${ref} is kept by the service; push to a branch.`
      if (ref !== `refs/heads/${project.default_branch}`) continue
      if (project.managed && (await isEmpty(repository))) continue
      return `${project.default_branch} is written by merged change requests only. Push another branch, then: svc cr open --title "..." --head <branch>`
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

/** git asks for a credential only when it is told that Basic is the way. */
function challenge(response: Response): Response {
  if (response.headers.has('www-authenticate')) response.headers.set('www-authenticate', 'Basic realm="svc"')
  return response
}
