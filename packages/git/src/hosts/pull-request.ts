/** Branch rules and pull requests, through the API of a GitHub-style host. */
import { type CallOptions, type GitHubApi, isSha, type Remote, type Sha } from '../repository.ts'
import { type ApiAnswer, gitHubRepository, openRepositoryApi } from './github-api.ts'

type HostRemote = Remote & { github: GitHubApi }
const apiMsMax = 8_000
const urlMax = 2_000

/** null: the URL is not a repository of such a host, or the project has no credential for its API. */
async function openApi(remote: HostRemote, options: CallOptions) {
  const repository = gitHubRepository(remote.url)
  const { credential } = remote
  if (repository === null || credential === null) return null
  const limits = { ...options, timeoutMs: options.timeoutMs ?? apiMsMax }
  return { ask: await openRepositoryApi({ ...remote, credential }, repository, limits), owner: repository.owner }
}

/** Why the host will refuse a push to this branch, by the rules its API lists; null: none, or no answer. */
export async function branchRules(
  remote: HostRemote,
  branch: string,
  options: CallOptions = {},
): Promise<string | null> {
  const api = await openApi(remote, options)
  if (api === null) return null
  const [rules, found] = await Promise.all([
    api.ask('GET /repos/{owner}/{repo}/rules/branches/{branch}', { branch }),
    api.ask('GET /repos/{owner}/{repo}/branches/{branch}', { branch }),
  ])
  if (rules.kind === 'answered' && rules.status === 200 && Array.isArray(rules.data)) {
    const types = rules.data.map((rule) => (rule as { type?: unknown } | null)?.type)
    if (types.includes('pull_request')) return 'A rule of the git host requires a pull request for this branch.'
    if (types.includes('update')) return 'A rule of the git host restricts updates of this branch.'
  }
  const isProtected =
    found.kind === 'answered' &&
    found.status === 200 &&
    (found.data as { protected?: unknown } | null)?.protected === true
  return isProtected ? 'The git host lists this branch as protected.' : null
}

export interface PullRequest {
  number: number
  url: string
  state: 'open' | 'closed' | 'merged'
  baseSha: Sha | null
  headSha: Sha | null
  mergeSha: Sha | null
}

export type PullRequestOutcome =
  | { kind: 'found'; pull: PullRequest }
  | { kind: 'none' }
  /** The host's message. */
  | { kind: 'refused'; reason: string }
  | { kind: 'unreachable'; reason: string }

/** The open pull request of these branches; opens one if there is none. */
export async function openPullRequest(
  remote: HostRemote,
  input: { base: string; head: string; title: string; body: string },
  options: CallOptions = {},
): Promise<Exclude<PullRequestOutcome, { kind: 'none' }>> {
  const api = await openApi(remote, options)
  if (api === null) return { kind: 'refused', reason: 'The project has no credential for the API of its git host.' }
  const { base, head } = input
  const query = { base, head: `${api.owner}:${head}`, state: 'open', per_page: 1 }
  const find = async () =>
    outcomeOf(await api.ask('GET /repos/{owner}/{repo}/pulls', query), (data) => (data as unknown[] | null)?.[0])
  const earlier = await find()
  if (earlier.kind !== 'none') return earlier
  const made = await api.ask('POST /repos/{owner}/{repo}/pulls', input)
  const pull = made.kind === 'answered' && made.status === 201 ? readPull(made.data) : null
  if (pull !== null) return { kind: 'found', pull }
  // Another request may have been faster, and a missing answer does not mean that nothing was created.
  const again = await find()
  if (again.kind === 'found') return again
  return made.kind === 'silent' ? { kind: 'unreachable', reason: made.words } : { kind: 'refused', reason: made.words }
}

export async function readPullRequest(
  remote: HostRemote,
  number: number,
  options: CallOptions = {},
): Promise<PullRequestOutcome> {
  const api = await openApi(remote, options)
  if (api === null) return { kind: 'refused', reason: 'The project has no credential for the API of its git host.' }
  return outcomeOf(await api.ask('GET /repos/{owner}/{repo}/pulls/{pull_number}', { pull_number: number }))
}

function outcomeOf(answer: ApiAnswer, pick = (data: unknown) => data): PullRequestOutcome {
  if (answer.kind === 'silent') return { kind: 'unreachable', reason: answer.words }
  if (answer.status !== 200) return { kind: 'refused', reason: answer.words }
  const pull = readPull(pick(answer.data))
  return pull === null ? { kind: 'none' } : { kind: 'found', pull }
}

/** The host's data is not trusted: ids must be full ids, and the URL must be safe to link to. */
function readPull(data: unknown): PullRequest | null {
  if (typeof data !== 'object' || data === null) return null
  const { number, html_url, state, merged_at, merge_commit_sha, base, head } = data as Record<string, unknown>
  const url = typeof html_url === 'string' && URL.canParse(html_url) ? new URL(html_url) : null
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1 || number > 2 ** 31 - 1) return null
  if (url === null || !/^https?:$/.test(url.protocol) || url.href.length > urlMax) return null
  const shaOf = (value: unknown) => (typeof value === 'string' && isSha(value) ? value : null)
  const isMerged = typeof merged_at === 'string'
  return {
    number,
    url: url.href,
    state: isMerged ? 'merged' : state === 'open' ? 'open' : 'closed',
    baseSha: shaOf((base as { sha?: unknown } | null)?.sha),
    headSha: shaOf((head as { sha?: unknown } | null)?.sha),
    mergeSha: isMerged ? shaOf(merge_commit_sha) : null,
  }
}
