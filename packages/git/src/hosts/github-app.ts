import { LRUCache } from 'lru-cache'
import { askGitHub, openGitHubApi, type ApiAnswer, type GitHubRepository } from './github-api.ts'
import { withheldText } from '../repository.ts'

export type AppTokenOutcome =
  | { kind: 'token'; token: string }
  | { kind: 'not-installed'; reason: string }
  | { kind: 'unreachable'; reason: string }

export type GitHubApp = ReturnType<typeof makeGitHubApp>

/** Installation tokens are valid for an hour. A returned token must outlast a long push. */
const spareMs = 10 * 60_000

export function makeGitHubApp(input: { appId: string; privateKey: string; apiUrl: string; now?: () => number }) {
  const now = input.now ?? Date.now
  const kept = new LRUCache<string, { token: string; renewAt: number }>({ max: 10_000 })
  const flights = new Map<string, Promise<AppTokenOutcome>>()

  async function fetchToken(key: string, repository: GitHubRepository): Promise<AppTokenOutcome> {
    const api = await openGitHubApi(input.apiUrl, { appId: input.appId, privateKey: input.privateKey })
    const ask = (route: string, parameters: object) =>
      askGitHub(api, route, { ...parameters }, (text) => (text.includes(input.privateKey) ? withheldText : text))
    const found = await ask('GET /repos/{owner}/{repo}/installation', {
      owner: repository.owner,
      repo: repository.name,
    })
    const id = numberIn(found, 'id')
    if (id === null) return explain(found, repository)
    const made = await ask('POST /app/installations/{installation_id}/access_tokens', {
      installation_id: id,
      // Only this repository, even when the App is installed on more.
      repositories: [repository.name],
    })
    const fresh = tokenIn(made)
    if (fresh === null) return explain(made, repository)
    kept.set(key, { token: fresh.token, renewAt: fresh.expiresAt - spareMs })
    return { kind: 'token', token: fresh.token }
  }

  return {
    apiUrl: input.apiUrl,
    /** A token for this repository only, for git and the API. */
    async tokenFor(repository: GitHubRepository): Promise<AppTokenOutcome> {
      const key = `${repository.owner}/${repository.name}`.toLowerCase()
      const known = kept.get(key)
      if (known && known.renewAt > now()) return { kind: 'token', token: known.token }
      let flight = flights.get(key)
      if (!flight) {
        flight = fetchToken(key, repository).finally(() => flights.delete(key))
        flights.set(key, flight)
      }
      return flight
    },
  }
}

function explain(answer: ApiAnswer, repository: GitHubRepository): AppTokenOutcome {
  const name = `${repository.owner}/${repository.name}`
  if (answer.kind === 'answered' && answer.status === 404)
    return { kind: 'not-installed', reason: `The GitHub App of this server is not installed on ${name}.` }
  return { kind: 'unreachable', reason: `The git host issued no App token for ${name}: ${answer.words}.` }
}

function numberIn(answer: ApiAnswer, field: string): number | null {
  if (answer.kind !== 'answered' || answer.status !== 200) return null
  const value = (answer.data as Record<string, unknown> | null)?.[field]
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null
}

function tokenIn(answer: ApiAnswer): { token: string; expiresAt: number } | null {
  if (answer.kind !== 'answered' || answer.status !== 201) return null
  const { token, expires_at } = (answer.data ?? {}) as Record<string, unknown>
  // The token becomes a header and a line of git's configuration, so it must not contain a line break.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,4096}$/.test(token)) return null
  const expiresAt = typeof expires_at === 'string' ? Date.parse(expires_at) : Number.NaN
  return Number.isNaN(expiresAt) ? null : { token, expiresAt }
}
