import { ServiceError } from '@svc/contract/errors'
import type { ApiClient } from '@svc/contract/api'
import type { ChangeRequest } from '../../wire.ts'
import { reply } from '../../api.ts'
import type { Arg } from '../../command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { currentBranch } from '../../git.ts'
import { quote } from '../../shell.ts'
import { getProject, resolveProjectId, uuid } from '../projects/find.ts'

export const crArg = {
  names: 'cr',
  summary: "Its number (3 or '#3'), id, head branch or address; @ for the one of the current branch",
  hint: "A shell drops an unquoted #3: write 3 or '#3'.",
} as const satisfies Arg

/** The change request as it is now, whichever way it was named. */
export async function resolveChangeRequest(
  ctx: Context,
  api: ApiClient,
  projectId: string,
  given: string,
): Promise<ChangeRequest> {
  if (given === '@') return ofBranch(await branchHere(ctx), api, projectId)
  const number = /^#?(\d{1,9})$/.exec(given)?.[1]
  if (number !== undefined) return byNumber(api, projectId, Number(number))
  if (uuid.test(given)) return byId(api, projectId, given.toLowerCase())
  if (/^https?:\/\//.test(given)) return byAddress(ctx, api, projectId, given)
  if (!branchName.test(given))
    throw new UsageError(`${JSON.stringify(given)} is not a change request`, {
      hint: "Give its number (3 or '#3'), its id, its head branch, its address, or @ for the one of the current branch.",
      next: ['svc cr ls'],
    })
  return ofBranch(given, api, projectId)
}

/** Roughly the names git allows for a branch; the service checks the rest. */
const branchName = /^(?![-/.])(?!.*(\.\.|\/\/|@\{|\/\.|\/$|\.$))[^\s~^:?*[\\\x00-\x20#]+$/

/** A branch of a session is named by an id as well. */
async function byId(api: ApiClient, projectId: string, id: string): Promise<ChangeRequest> {
  const path = { projectId, crId: id }
  try {
    const found = await reply(api.GET('/v1/projects/{projectId}/change-requests/{crId}', { params: { path } }))
    return found.change_request
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
    const [ofSession] = await changeRequestsOfHead(api, projectId, id, 'all')
    if (ofSession === undefined) throw error
    return ofSession
  }
}

/** The address of its page, as a browser shows it. */
async function byAddress(ctx: Context, api: ApiClient, projectId: string, given: string): Promise<ChangeRequest> {
  const address = new URL(given)
  const found = /\/projects\/([^/]+)\/change-requests\/(\d{1,9})(\/|$)/.exec(address.pathname)
  if (found === null) throw new UsageError('This address is not of a change request', { next: ['svc cr ls'] })
  const { base } = await ctx.host()
  if (new URL(base).origin !== address.origin)
    throw new UsageError(`This address is of ${address.origin}, and the host is ${base}`, { next: ['svc hosts ls'] })
  const [, named, number] = found
  const project = decodeURIComponent(named!)
  if (project !== projectId && (await resolveProjectId(api, project)) !== projectId)
    throw new UsageError(`This address is of the project ${project}`, {
      next: [`svc cr show ${number} --project ${quote(project)}`],
    })
  return byNumber(api, projectId, Number(number))
}

async function byNumber(api: ApiClient, projectId: string, number: number): Promise<ChangeRequest> {
  const found = await reply(
    api.GET('/v1/projects/{projectId}/change-requests', { params: { path: { projectId }, query: { number } } }),
  )
  const [first] = found.change_requests
  if (first !== undefined) return first
  throw new Refusal('not_found', `There is no change request #${number}`, { next: ['svc cr ls --status all'] })
}

async function branchHere(ctx: Context): Promise<string> {
  const branch = (await currentBranch(ctx.io.cwd, ctx.io.env)) ?? ctx.io.env.SVC_BRANCH_NAME
  if (branch) return branch
  throw new Refusal('not_found', '@ means the current git branch, and there is none here', { next: ['svc cr ls'] })
}

/** The open one; when none is open, the newest. */
async function ofBranch(branch: string, api: ApiClient, projectId: string): Promise<ChangeRequest> {
  const all = await changeRequestsOfHead(api, projectId, branch, 'all')
  const open = all.filter((cr) => cr.status === 'open')
  if (open.length > 1)
    throw new Refusal('ambiguous', `${open.length} change requests of ${branch} are open`, {
      hint: `Name one of them: ${open.map((cr) => `#${cr.number}`).join(', ')}.`,
      next: ['svc cr ls'],
    })
  const found = open[0] ?? all[0]
  if (found !== undefined) return found
  if ((await getProject(api, projectId)).default_branch === branch)
    throw new Refusal('not_found', `${branch} is the default branch: work lands on it from other branches`, {
      hint: '@ means the change request of the current branch. Switch to its branch, or name it by its number.',
      next: ['svc cr ls'],
    })
  throw new Refusal('not_found', `There is no change request of the branch ${branch}`, {
    next: [`svc cr open --head ${quote(branch)} --title '<text>'`, 'svc cr ls --status all'],
  })
}

/** Newest first. */
export async function changeRequestsOfHead(
  api: ApiClient,
  projectId: string,
  head: string,
  status: 'open' | 'all',
): Promise<ChangeRequest[]> {
  const params = { path: { projectId }, query: { status, head_ref: head } }
  const found = await reply(api.GET('/v1/projects/{projectId}/change-requests', { params }))
  // A server that does not know the filter yet answers with others too.
  return found.change_requests.filter((cr) => cr.head_ref === head)
}
