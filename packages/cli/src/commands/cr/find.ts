import type { ApiClient } from '@svc/contract/api'
import type { ChangeRequest } from '../../wire.ts'
import { reply } from '../../api.ts'
import type { Arg } from '../../command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { currentBranch } from '../../git.ts'
import { quote } from '../../shell.ts'
import { getProject, uuid } from '../projects/find.ts'

export const crArg = {
  names: 'cr',
  summary: "Its number (3 or '#3'), its id, or @ for the one of the current branch",
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
  if (!uuid.test(given))
    throw new UsageError(`${JSON.stringify(given)} is not a change request`, {
      hint: "Give its number (3 or '#3'), its id, or @ for the one of the current branch.",
      next: ['svc cr ls'],
    })
  const path = { projectId, crId: given.toLowerCase() }
  const found = await reply(api.GET('/v1/projects/{projectId}/change-requests/{crId}', { params: { path } }))
  return found.change_request
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
