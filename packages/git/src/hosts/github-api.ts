import type { Octokit } from '@octokit/core'
import { boundedFetch } from './api-fetch.ts'

/** What the API of a GitHub-style host is asked, whoever asks: a project's token or the server's App. */

const bytesMax = 1024 * 1024
const wordsMax = 500

export interface GitHubRepository {
  owner: string
  name: string
}

/** Owner and name by the path of an https address; null where it is not one of GitHub's. */
export function gitHubRepository(url: string): GitHubRepository | null {
  if (!/^https?:/.test(url)) return null
  const match = /^\/([A-Za-z0-9_.-]+)\/([A-Za-z0-9_.-]+?)(?:\.git)?\/?$/.exec(new URL(url).pathname)
  return match?.[1] && match[2] ? { owner: match[1], name: match[2] } : null
}

/** Loaded when it is first asked: the client and the daemon, which import this package too, never do. */
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
    // Octokit would write to the console, which is the server's own.
    log: { debug: silent, info: silent, warn: silent, error: silent },
    request: { fetch: boundedFetch({ bytesMax, timeoutMs, ...(pin ? { pin } : {}) }) },
  }
  if ('token' in auth) return new Octokit({ ...options, auth: auth.token })
  const { createAppAuth } = await import('@octokit/auth-app')
  return new Octokit({ ...options, authStrategy: createAppAuth, auth: { ...auth, log: options.log } })
}

export type ApiAnswer =
  | { kind: 'answered'; status: number; data: unknown; words: string; waitMs: number | null }
  /** No connection, no answer in time, or one that is too long: what was asked may have happened. */
  | { kind: 'silent'; words: string }

/** One question. What is no success is a value too, with the host's own words. */
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
    if (isTimeout(error)) return { kind: 'silent', words: 'its API gave no answer in time' }
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

/** `message` and the messages of `errors`, which is where GitHub puts the reason of a rule. */
function wordsOf(status: number, data: unknown, guard: (text: string) => string): string {
  const { message, errors } = (typeof data === 'object' && data !== null ? data : {}) as Record<string, unknown>
  const more = (Array.isArray(errors) ? errors : []).slice(0, 5).map((one: unknown) => {
    return typeof one === 'string' ? one : (one as { message?: unknown } | null)?.message
  })
  const words = [message, ...more].filter((one): one is string => typeof one === 'string' && one !== '')
  return `${plain(words.join(' '), guard) || 'it gave no reason'} (HTTP status ${status})`
}

/** One line of bounded length, whatever a host sends back. `guard` sees the whole text: a part of a credential would not be recognized. */
function plain(text: string, guard: (text: string) => string): string {
  return guard(text)
    .slice(0, 4 * wordsMax)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, wordsMax)
}

const restMsMax = 3_600_000
const restMsDefault = 60_000

/** How long the host wants to be left alone; null when it did not ask for that. */
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
