import type { Octokit } from '@octokit/core'
import { boundedFetch } from '../remote/api-fetch.ts'
import { type CallOptions, type GitHubApi, guarded, type Remote } from '../repository.ts'

/** Requests to the API of a GitHub-style host, with a project's token or the server's App. */

const bytesMax = 1024 * 1024
const wordsMax = 500

export interface GitHubRepository {
  owner: string
  name: string
}

/** Owner and name from the path of an https URL; null when it is not a GitHub repository. */
export function gitHubRepository(url: string): GitHubRepository | null {
  if (!/^https?:/.test(url)) return null
  const match = /^\/([A-Za-z0-9_.-]+)\/([A-Za-z0-9_.-]+?)(?:\.git)?\/?$/.exec(new URL(url).pathname)
  return match?.[1] && match[2] ? { owner: match[1], name: match[2] } : null
}

/** Loaded on first use: the client and the daemon import this package but never call the API. */
export async function openGitHubApi(
  apiUrl: string,
  auth: { token: string } | { appId: string; privateKey: string },
  { timeoutMs = 10_000, pin }: { timeoutMs?: number; pin?: string[] } = {},
): Promise<Octokit> {
  const { Octokit } = await import('@octokit/core')
  const silent = () => {}
  const options = {
    baseUrl: apiUrl,
    userAgent: 'svc',
    // Octokit would log to the console, which belongs to the server.
    log: { debug: silent, info: silent, warn: silent, error: silent },
    request: { fetch: boundedFetch({ bytesMax, timeoutMs, ...(pin ? { pin } : {}) }) },
  }
  if ('token' in auth) return new Octokit({ ...options, auth: auth.token })
  const { createAppAuth } = await import('@octokit/auth-app')
  return new Octokit({ ...options, authStrategy: createAppAuth, auth: { ...auth, log: options.log } })
}

/** Asks about the remote's repository: `owner` and `repo` are added to the parameters of each request. */
export async function openRepositoryApi(
  remote: Remote & { github: GitHubApi; credential: { password: string } },
  repository: GitHubRepository,
  { timeoutMs, signal }: CallOptions & { timeoutMs: number },
): Promise<(route: string, parameters?: object) => Promise<ApiAnswer>> {
  const { apiUrl, pin } = remote.github
  const api = await openGitHubApi(apiUrl, { token: remote.credential.password }, { timeoutMs, ...(pin ? { pin } : {}) })
  const fixed = { owner: repository.owner, repo: repository.name, ...(signal ? { request: { signal } } : {}) }
  return (route, parameters = {}) => askGitHub(api, route, { ...parameters, ...fixed }, (text) => guarded(remote, text))
}

export type ApiAnswer =
  | { kind: 'answered'; status: number; data: unknown; words: string; waitMs: number | null }
  /** No connection, no answer in time, or an answer that is too long: the request may have been executed. */
  | { kind: 'silent'; words: string }

/** One request. Failures are values too, with the host's message. */
export async function askGitHub(
  api: Octokit,
  route: string,
  parameters: Record<string, unknown>,
  guard: (text: string) => string,
): Promise<ApiAnswer> {
  try {
    const { status, data, headers } = await api.request(route, parameters)
    return answered({ status, data, headers }, guard)
  } catch (error) {
    const { response, name, message } = error as Error & { response?: GitHubResponse }
    if (response) return answered(response, guard)
    if (isTimeout(error)) return { kind: 'silent', words: 'the API did not answer in time' }
    return { kind: 'silent', words: plain(message || name, guard) }
  }
}

interface GitHubResponse {
  status: number
  data: unknown
  headers: Record<string, unknown>
}

function answered({ status, data, headers }: GitHubResponse, guard: (text: string) => string): ApiAnswer {
  return { kind: 'answered', status, data, words: wordsOf(status, data, guard), waitMs: waitMs(status, headers) }
}

/** `message` and the messages of `errors`, where GitHub puts the reason of a rule. */
function wordsOf(status: number, data: unknown, guard: (text: string) => string): string {
  const { message, errors } = (typeof data === 'object' && data !== null ? data : {}) as Record<string, unknown>
  const more = (Array.isArray(errors) ? errors : []).slice(0, 5).map((one: unknown) => {
    return typeof one === 'string' ? one : (one as { message?: unknown } | null)?.message
  })
  const words = [message, ...more].filter((one): one is string => typeof one === 'string' && one !== '')
  return `${plain(words.join(' '), guard) || 'it gave no reason'} (HTTP status ${status})`
}

/** One line of limited length. `guard` checks the whole text: it would not recognize part of a credential. */
function plain(text: string, guard: (text: string) => string): string {
  return guard(text)
    .slice(0, 4 * wordsMax)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, wordsMax)
}

const restMsMax = 3_600_000
const restMsDefault = 60_000

/** How long the host asks to wait before the next request; null when it does not. */
function waitMs(status: number, headers: Record<string, unknown>): number | null {
  if (status !== 403 && status !== 429) return null
  const [after, remaining, reset] = ['retry-after', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) => {
    const value = Number(headers[name] ?? Number.NaN)
    return Number.isFinite(value) && value >= 0 ? value : null
  })
  const stated =
    after != null ? after * 1000 : remaining === 0 && reset != null ? Math.max(1000, reset * 1000 - Date.now()) : null
  return stated === null && status === 403 ? null : Math.min(stated ?? restMsDefault, restMsMax)
}

function isTimeout(error: unknown): boolean {
  return [error, (error as Error).cause].some((one) =>
    /^(?:Timeout|Abort)Error$/.test((one as Error | null)?.name ?? ''),
  )
}
