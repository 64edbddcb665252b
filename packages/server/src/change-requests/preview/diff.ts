import { type ChangeRequestDiff, diffPartsType, ServiceError } from '@svc/contract'
import {
  type Diff,
  diffCommits,
  diffSince,
  hasObjects,
  isAncestor,
  mergeBase,
  type Repository,
  streamPatch,
} from '@svc/git'
import { accepts } from '../../http/request-info.ts'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { asParts } from './diff-parts.ts'
import { commitPair, type PairDeps, unlessLost, withHostsHelp } from './commit-pair.ts'
import { type ChangeRequestRow, requireChangeRequest, wasHead } from '../store.ts'
import { withinLimits } from '../../projects/within-limits.ts'

export interface DiffOptions {
  project: ProjectRow
  crId: string
  renames: boolean
  ignoreWhitespace: boolean
  /** A commit that is or was on the head branch, to start from instead of the base. */
  since: string | null
  /** A commit that is or was on the head branch, to end at instead of the head. */
  to: string | null
  signal: AbortSignal
}

export interface DiffChangeRequest extends DiffOptions {
  /** The Accept header: `text/x-diff` requests the patch alone, of any size, and NDJSON the diff in parts. */
  accept: string | null
}

export async function diffChangeRequest(
  deps: PairDeps,
  input: DiffChangeRequest,
): Promise<ChangeRequestDiff | Response> {
  const at = await pairOf(deps, input)
  if (!accepts(input.accept, 'text/x-diff')) {
    const { diff } = await readDiff(deps, input, at)
    return accepts(input.accept, diffPartsType) ? asParts(diff) : diff
  }
  const { repository, pair, cr } = at
  const { signal } = input
  if (input.since === null)
    return asPatch(await unlessLost({ repository, ...pair }, withinLimits(streamPatch(repository, pair, { signal }))))
  const since = { ...pair, sinceSha: input.since }
  const found = await sinceThen(deps, { cr, repository, since, signal })
  return sincePatch(repository, { since, found, signal })
}

/** Shared by the diff and the reading guide, which is about the same patch. */
export async function readDiff(deps: PairDeps, input: DiffOptions, at?: Pair) {
  const { cr, repository, pair } = at ?? (await pairOf(deps, input))
  const { project, signal } = input
  if (input.since !== null) {
    const since = { ...pair, sinceSha: input.since }
    return { repository, diff: await sinceThen(deps, { cr, repository, since, signal }) }
  }
  const of = (repo: Repository) => withinLimits(diffCommits(repo, pair, { signal }))
  const diff = await withHostsHelp(deps, { project, pair: { repository, ...pair } }, of)
  return { repository, diff: present(cr, input.ignoreWhitespace, diff) }
}

type Pair = Awaited<ReturnType<typeof pairOf>>

async function pairOf(deps: PairDeps, input: DiffOptions) {
  const { project, renames, ignoreWhitespace, signal } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  const { repository, headSha: tip, baseSha } = await commitPair(deps, { project, cr, signal })
  const headSha = input.to ?? tip
  if (headSha !== tip) await requireEarlierHead(deps, { cr, repository, sha: headSha, headSha: tip, signal }, 'to')
  return { cr, repository, pair: { baseSha, headSha, renames, ignoreWhitespace } }
}

type SincePair = Parameters<typeof diffSince>[1]

async function sinceThen(
  deps: PairDeps,
  input: { cr: ChangeRequestRow; repository: Repository; since: SincePair; signal: AbortSignal },
): Promise<ChangeRequestDiff> {
  const { cr, repository, since, signal } = input
  const { sinceSha, headSha } = since
  const { rewritten } = await requireEarlierHead(deps, { cr, repository, sha: sinceSha, headSha, signal }, 'since')
  const { base_moved, conflicts, ...diff } = await withinLimits(diffSince(repository, since, { signal }))
  const merge_base = await withinLimits(mergeBase(repository, sinceSha, headSha, { signal }))
  return {
    ...present(cr, since.ignoreWhitespace === true, { base_sha: sinceSha, head_sha: headSha, merge_base, ...diff }),
    since: { sha: sinceSha, rewritten, base_moved, conflicts },
  }
}

/** Streams a diff of two trees whole. A diff that needs a merge first has no stored tree to stream from. */
async function sincePatch(
  repository: Repository,
  { since, found, signal }: { since: SincePair; found: ChangeRequestDiff; signal: AbortSignal },
): Promise<Response> {
  if (found.since?.rewritten === false && !found.since.base_moved)
    return asPatch(await withinLimits(streamPatch(repository, { ...since, baseSha: since.sinceSha }, { signal })))
  if (!found.truncated) return asPatch(found.patch)
  throw new ServiceError('unprocessable', 'The change since that commit is too large for a patch.', {
    hint: 'Request JSON, which lists every file, or leave out `since`.',
  })
}

function asPatch(body: ReadableStream<Uint8Array> | string): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/x-diff; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  })
}

function present(
  cr: ChangeRequestRow,
  ignoreWhitespace: boolean,
  { whitespace_only, ...diff }: Diff,
): ChangeRequestDiff {
  const leftOut = ignoreWhitespace ? { whitespace_only } : {}
  return { cr_id: cr.cr_id, base_ref: cr.base_ref, head_ref: cr.head_ref, ...diff, ...leftOut }
}

/** Restricts reading to what the head branch holds or held, so that other commits of the repository stay hidden. */
async function requireEarlierHead(
  deps: PairDeps,
  input: { cr: ChangeRequestRow; repository: Repository; sha: string; headSha: string; signal: AbortSignal },
  field: 'since' | 'to',
): Promise<{ rewritten: boolean }> {
  const { cr, repository, sha, headSha, signal } = input
  const isThere = await hasObjects(repository, [sha])
  if (isThere && (await isAncestor(repository, sha, headSha, { signal }))) return { rewritten: false }
  if (!(await wasHead(deps.db, cr.cr_id, sha)))
    throw notEarlier(field, 'That commit is not part of the head branch.', 'is not an ancestor of the head')
  if (isThere) return { rewritten: true }
  // The host may still serve a commit that no branch holds.
  if (repository.remote !== null && (await fetchForRequest(repository, [sha], signal)).kind === 'present')
    return { rewritten: true }
  throw notEarlier(field, 'The branch was rewritten, and that commit no longer exists.', 'is no longer there')
}

function notEarlier(field: 'since' | 'to', issue: string, message: string): ServiceError {
  return new ServiceError('invalid', issue, {
    hint: field === 'since' ? 'Leave out `since` to see the whole change.' : 'Leave out `to` to see the current head.',
    detail: { issues: [{ path: field, message }] },
  })
}
