import type { ChangeRequest } from '@svc/sdk'
import { ServiceError } from '@svc/contract/errors'
import type { Arg } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { currentBranch } from '../../git/git.ts'
import { quote } from '../../arguments/shell-word.ts'
import { pushFirst } from './unpushed-head.ts'
import { uuid } from '../../arguments/find-one.ts'
import { resolveProjectId } from '../projects/find.ts'
import type { ProjectClient } from '../../requests.ts'

export const crArg = {
  names: 'cr',
  summary: "Number (3 or '#3'), id, head branch or URL of the change request; @ for the current branch",
  hint: "A shell drops an unquoted #3: write 3 or '#3'.",
} as const satisfies Arg

/** The change request that an argument names, and its client. */
export async function changeRequestAt(ctx: Context, given: string) {
  const { project } = ctx
  await project.id()
  const cr = await resolveChangeRequest(ctx, project, given)
  return { cr, at: project.changeRequest(cr.cr_id) }
}

/** Reads the current change request from a number, an id, a branch, a URL or `@`. */
async function resolveChangeRequest(ctx: Context, project: ProjectClient, given: string): Promise<ChangeRequest> {
  if (given === '@') return ofBranch(ctx, await branchHere(ctx), project)
  const number = /^#?(\d{1,9})$/.exec(given)?.[1]
  if (number !== undefined) return byNumber(project, Number(number))
  if (uuid.test(given)) return byId(project, given.toLowerCase())
  if (/^https?:\/\//.test(given)) return byAddress(ctx, project, given)
  if (!branchName.test(given))
    throw new UsageError(`${JSON.stringify(given)} is not a change request`, {
      hint: "Give a number (3 or '#3'), an id, a head branch, a URL, or @ for the current branch.",
      next: ['svc cr ls'],
    })
  return ofBranch(ctx, given, project)
}

/** Approximates git's rules for branch names; the service checks the rest. */
const branchName = /^(?![-/.])(?!.*(\.\.|\/\/|@\{|\/\.|\/$|\.$))[^\s~^:?*[\\\x00-\x20#]+$/

/** The id may also be a session's, which names its branch. */
async function byId(project: ProjectClient, id: string): Promise<ChangeRequest> {
  try {
    return (await project.changeRequest(id).get('')).change_request
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
    const [ofSession] = await changeRequestsOfHead(project, id, 'all')
    if (ofSession === undefined) throw error
    return ofSession
  }
}

async function byAddress(ctx: Context, project: ProjectClient, given: string): Promise<ChangeRequest> {
  const address = new URL(given)
  const found = /\/projects\/([^/]+)\/change-requests\/(\d{1,9})(\/|$)/.exec(address.pathname)
  if (found === null) throw new UsageError('This URL does not name a change request', { next: ['svc cr ls'] })
  const { base } = await ctx.host()
  if (new URL(base).origin !== address.origin)
    throw new UsageError(`This URL is on ${address.origin}, but the host is ${base}`, { next: ['svc hosts ls'] })
  const [, named, number] = found
  const itsProject = decodeURIComponent(named!)
  const id = await project.id()
  if (itsProject !== id && (await resolveProjectId(project.api, itsProject)) !== id)
    throw new UsageError(`This URL belongs to the project ${itsProject}`, {
      next: [`svc cr show ${number} --project ${quote(itsProject)}`],
    })
  return byNumber(project, Number(number))
}

async function byNumber(project: ProjectClient, number: number): Promise<ChangeRequest> {
  const found = await project.get('/change-requests', { query: { number } })
  const [first] = found.change_requests
  if (first !== undefined) return first
  throw new Refusal('not_found', `No change request matches "#${number}"`, { next: ['svc cr ls --status all'] })
}

async function branchHere(ctx: Context): Promise<string> {
  const branch = (await currentBranch(ctx.io.cwd, ctx.io.env)) ?? ctx.io.env.SVC_BRANCH_NAME
  if (branch) return branch
  throw new Refusal('not_found', '@ means the current git branch, but this folder has none', { next: ['svc cr ls'] })
}

/** The open change request, otherwise the newest. */
async function ofBranch(ctx: Context, branch: string, project: ProjectClient): Promise<ChangeRequest> {
  const all = await changeRequestsOfHead(project, branch, 'all')
  const open = all.filter((cr) => cr.status === 'open')
  if (open.length > 1)
    throw new Refusal('ambiguous', `${open.length} change requests of ${branch} are open`, {
      hint: `Choose one: ${open.map((cr) => `#${cr.number}`).join(', ')}.`,
      next: ['svc cr ls'],
    })
  const found = open[0] ?? all[0]
  if (found !== undefined) return found
  if ((await project.get('')).default_branch === branch)
    throw new Refusal('not_found', `${branch} is the default branch, which has no change request`, {
      hint: '@ means the change request of the current branch. Switch to its head branch, or give its number.',
      next: ['svc cr ls'],
    })
  const propose = `svc cr open --head ${quote(branch)} --title '<text>'`
  const unpushed = (await isOnService(project, branch)) ? null : await pushFirst(ctx, branch)
  throw new Refusal('not_found', `No change request has the head branch ${branch}`, {
    hint: unpushed?.hint,
    next: [...(unpushed === null ? [propose] : unpushed.next), 'svc cr ls --status all'],
  })
}

/** `svc cr open` would fail for a branch that the repository lacks. */
async function isOnService(project: ProjectClient, branch: string): Promise<boolean> {
  return project.get('/commits', { query: { ref: branch, limit: 1 } }).then(
    () => true,
    (error: unknown) => !(error instanceof ServiceError && error.code === 'ref_not_found'),
  )
}

export async function changeRequestsOfHead(
  project: ProjectClient,
  head: string,
  status: 'open' | 'all',
): Promise<ChangeRequest[]> {
  const found = await project.get('/change-requests', { query: { status, head_ref: head } })
  // An older server ignores the filter.
  return found.change_requests.filter((cr) => cr.head_ref === head)
}
