import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { CallOptions, GitHubApi, Remote, Sha } from '../repository.ts'
import { gitHubRepository, openRepositoryApi } from './github-api.ts'

type ApiBranchOutcome =
  | { kind: 'created' | 'exists' }
  /** The host decided about this branch and commit, and would decide a push the same way. */
  | { kind: 'rejected'; reason: string }
  /** The API did not decide. A push may still work: the project was accepted by it. */
  | { kind: 'undecided'; reason: string }

/** Credentials whose host asked to wait, and until when. */
const resting = new LRUCache<string, number>({ max: 10_000 })

const apiMsMax = 10_000

/** Creates the ref through the API: it fetches nothing and sends only a name and an id. */
export async function createBranchByApi(
  remote: Remote & { github: GitHubApi },
  input: { branch: string; sha: Sha },
  options: CallOptions = {},
): Promise<ApiBranchOutcome> {
  const repository = gitHubRepository(remote.url)
  if (!repository) return { kind: 'undecided', reason: 'the URL is not of the form owner/name' }
  const { credential, github } = remote
  if (!credential) return { kind: 'undecided', reason: 'the API needs a credential' }
  const restKey = createHash('sha256').update(`${github.apiUrl}\0${credential.password}`).digest('hex')
  if ((resting.get(restKey) ?? 0) > Date.now()) return { kind: 'undecided', reason: 'the API asked for a pause' }

  // The rest of the caller's time is for the push.
  const timeoutMs = Math.min(apiMsMax, (options.timeoutMs ?? Infinity) / 4)
  const ask = await openRepositoryApi({ ...remote, credential }, repository, { ...options, timeoutMs })
  const answer = await ask('POST /repos/{owner}/{repo}/git/refs', {
    ref: `refs/heads/${input.branch}`,
    sha: input.sha,
  })
  options.signal?.throwIfAborted()
  if (answer.kind === 'silent') return { kind: 'undecided', reason: answer.words }
  if (answer.status === 201) return { kind: 'created' }
  if (answer.waitMs !== null) resting.set(restKey, Date.now() + answer.waitMs)
  if (answer.status !== 422) return { kind: 'undecided', reason: answer.words }
  // 422 means "Reference already exists" or any other refusal; the ref's existence tells which.
  const found = await ask('GET /repos/{owner}/{repo}/git/ref/{ref}', { ref: `heads/${input.branch}` })
  if (found.kind === 'silent') return { kind: 'undecided', reason: found.words }
  if (found.status === 200) return { kind: 'exists' }
  return found.status === 404
    ? { kind: 'rejected', reason: answer.words }
    : { kind: 'undecided', reason: `${answer.words}; ${found.words}` }
}
