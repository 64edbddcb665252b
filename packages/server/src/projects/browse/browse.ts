/** Lets a client read a repository without cloning it. */
import { compareCommitsMax, pathsMax, searchMatchesMax, treeEntriesMax } from '@svc/contract'
import {
  countApart,
  diffCommits,
  listCommits,
  listHistory,
  listPaths,
  listTree,
  previewMerge,
  type Repository,
  searchText,
} from '@svc/git'
import { notFound } from '../../auth/allow.ts'
import { cutPage, invalidCursor, readPair } from '../../http/page.ts'
import { type BrowseDeps, openTips, resolveRefs } from './resolve-ref.ts'
import type { ProjectRow } from '../store.ts'
import { withinLimits } from '../within-limits.ts'

interface Input {
  project: ProjectRow
  signal: AbortSignal
}

/** By name, in git's order. The cursor is a name, so branches that come or go shift nothing. */
export async function branchesOf(deps: BrowseDeps, input: Input & { limit: number; cursor?: string | undefined }) {
  const { project } = input
  const after = readPair(input.cursor)
  if (after !== null && after[0] !== 'branch') throw invalidCursor()
  const { tips } = await openTips(deps, project, { branches: 'all', signal: input.signal })
  const rows = [...tips]
    .filter(([name]) => after === null || name > after[1])
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .slice(0, input.limit + 1)
    .map(([name, sha]) => ({ name, sha, is_default: name === project.default_branch }))
  return cutPage(rows, input.limit, (last) => ['branch', last.name])
}

const skipMax = 10_000_000

/** Pages continue in the history of the first page's commit, wherever the branch is by then. */
export async function commitsOf(
  deps: BrowseDeps,
  input: Input & { ref?: string | undefined; path?: string | undefined; limit: number; cursor?: string | undefined },
) {
  const { project, signal, limit, path } = input
  const after = readCommitCursor(input.cursor)
  const ref = input.ref ?? project.default_branch
  const { repository, resolved } = await resolveRefs(deps, { project, refs: [after?.sha ?? ref], signal })
  const { sha } = resolved[0]!
  const skip = after?.skip ?? 0
  const folder = path?.replaceAll(/^\/+|\/+$/g, '')
  const asked = { sha, limit: limit + 1, skip }
  const commits = await withinLimits(
    folder ? historyOf(repository, { ...asked, path: folder }, signal) : listCommits(repository, asked, { signal }),
  )
  const { rows, next } = cutPage(commits, limit, () => [sha, String(skip + limit)])
  return { ref, sha, rows, next }
}

/** Names the path in a commit only where it was another one. */
async function historyOf(repository: Repository, input: Parameters<typeof listHistory>[1], signal: AbortSignal) {
  const commits = await listHistory(repository, input, { signal })
  return commits.map(({ path, ...commit }) => (path === input.path ? commit : { ...commit, path }))
}

function readCommitCursor(cursor: string | undefined): { sha: string; skip: number } | null {
  const pair = readPair(cursor)
  if (pair === null) return null
  const [sha, skip] = pair
  if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(sha) || !/^[1-9]\d{0,7}$/.test(skip) || Number(skip) > skipMax)
    throw invalidCursor()
  return { sha, skip: Number(skip) }
}

export async function treeOf(deps: BrowseDeps, input: Input & { ref?: string | undefined; path: string }) {
  const { project, signal, path } = input
  const ref = input.ref ?? project.default_branch
  const { repository, resolved } = await resolveRefs(deps, { project, refs: [ref], signal })
  const { sha } = resolved[0]!
  const entries = await withinLimits(listTree(repository, { sha, path }, { signal }))
  if (entries === null) throw notFound('folder')
  return { ref, sha, path, entries: entries.slice(0, treeEntriesMax), truncated: entries.length > treeEntriesMax }
}

export async function pathsOf(
  deps: BrowseDeps,
  input: Input & { ref?: string | undefined; search?: string | undefined },
) {
  const { project, search, signal } = input
  const ref = input.ref ?? project.default_branch
  const { repository, resolved } = await resolveRefs(deps, { project, refs: [ref], signal })
  const { sha } = resolved[0]!
  const { paths, truncated } = await withinLimits(listPaths(repository, { sha, limit: pathsMax }, { signal }))
  const found = search === undefined ? paths : withWords(paths, search)
  return { ref, sha, files: found.map((path) => ({ path })), truncated }
}

/** Those with every word in the file's name first. */
function withWords(paths: string[], search: string): string[] {
  const words = search.toLowerCase().split(/\s+/)
  const [inName, elsewhere]: [string[], string[]] = [[], []]
  for (const path of paths) {
    const lower = path.toLowerCase()
    if (!words.every((word) => lower.includes(word))) continue
    const name = lower.slice(lower.lastIndexOf('/') + 1)
    ;(words.every((word) => name.includes(word)) ? inName : elsewhere).push(path)
  }
  return [...inName, ...elsewhere]
}

export async function searchFiles(deps: BrowseDeps, input: Input & { ref?: string | undefined; text: string }) {
  const { project, signal, text } = input
  const ref = input.ref ?? project.default_branch
  const { repository, resolved } = await resolveRefs(deps, { project, refs: [ref], signal })
  const { sha } = resolved[0]!
  return {
    ref,
    sha,
    ...(await withinLimits(searchText(repository, { sha, text, limit: searchMatchesMax }, { signal }))),
  }
}

/** The change request that these two refs would make. */
export async function compareRefs(
  deps: BrowseDeps,
  input: Input & { base?: string | undefined; head: string; include?: 'patch' | undefined },
) {
  const { project, signal } = input
  const base_ref = input.base ?? project.default_branch
  const { repository, resolved } = await resolveRefs(deps, { project, refs: [base_ref, input.head], signal })
  const pair = { baseSha: resolved[0]!.sha, headSha: resolved[1]!.sha }
  // First and alone: it finds the common ancestor for the diff. Every git process that searches for it takes memory.
  const preview = await withinLimits(previewMerge(repository, pair, { signal }))
  const [diff, apart, commits] = await withinLimits(
    Promise.all([
      diffCommits(repository, pair, { signal }),
      countApart(repository, pair, { signal }),
      listCommits(repository, { sha: pair.headSha, notIn: pair.baseSha, limit: compareCommitsMax }, { signal }),
    ]),
  )
  const { files, files_changed, additions, deletions, truncated } = diff
  return {
    ...preview,
    base_ref,
    head_ref: input.head,
    ...apart,
    commits,
    ...{ files, files_changed, additions, deletions, truncated },
    ...(input.include === 'patch' ? { patch: diff.patch } : {}),
  }
}
