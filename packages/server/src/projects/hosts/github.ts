import { readFileSync } from 'node:fs'
import {
  type AppTokenOutcome,
  type GitHubApp,
  gitHubRepository,
  judgeApiUrl,
  makeGitHubApp,
  type Remote,
} from '@svc/git'
import { ServiceError } from '@svc/contract'
import { type FirstAccount, firstAccountOf } from '../../accounts/store.ts'
import type { Config } from '../../config.ts'
import type { Deps } from '../../deps.ts'

/** The API of the repository's host; null for hosts that are not GitHub-style, and for ssh, whose key is no token. */
export function gitHubApiOf(config: Pick<Config, 'github'>, url: string): string | null {
  if (!/^https?:/.test(url)) return null
  return config.github.apis[new URL(url).host] ?? null
}

/** A project's settings about the host of its repository. */
export interface HostSettings {
  git_host: 'auto' | 'plain' | 'github'
  git_api_url: string | null
}

/**
 * The API to use with a project's own token. An address the project names is checked and pinned at every use, like
 * that of a repository; so is one derived from the repository's host.
 */
export async function apiOfProject(
  config: Pick<Config, 'github'>,
  input: { url: string; settings: HostSettings | undefined; allowPrivate: boolean },
): Promise<Remote['github'] | null> {
  const operators = gitHubApiOf(config, input.url)
  const { git_host, git_api_url } = input.settings ?? { git_host: 'auto', git_api_url: null }
  if (git_host === 'plain' || !/^https?:/.test(input.url)) return null
  if (git_host === 'auto' || (git_api_url === null && operators !== null))
    return operators === null ? null : { apiUrl: operators }
  const verdict = await judgeApiUrl(git_api_url ?? `${new URL(input.url).origin}/api/v3`, {
    allowPrivate: input.allowPrivate,
  })
  if (verdict.kind === 'refused')
    throw new ServiceError('repository_refused', verdict.reason, {
      detail: { issues: [{ path: 'settings.git_api_url', message: verdict.reason }] },
    })
  return { apiUrl: verdict.url, pin: verdict.pin }
}

/** A stored token is sent to its own host only; another host requires the token again. */
export function isOfSameHost(repoUrl: string, apiUrl: string): boolean {
  if (!URL.canParse(apiUrl)) return false
  const [repository, api] = [new URL(repoUrl), new URL(apiUrl)]
  return api.host === repository.host || api.host === `api.${repository.host}`
}

/**
 * The App's credential for a repository; null where the App does not apply. The App knows where it is installed, but
 * not which users of this server may use it there, so it serves the accounts its operator named.
 */
export async function appToken(
  deps: Pick<Deps, 'config' | 'db'>,
  input: { url: string; accountId: string; firstAccount?: FirstAccount | undefined },
): Promise<AppTokenOutcome | null> {
  const { app } = deps.config.github
  const repository = gitHubRepository(input.url)
  if (app === null || repository === null || gitHubApiOf(deps.config, input.url) !== app.apiUrl) return null
  const { firstAccount = firstAccountOf(deps.db) } = input
  const isServed = app.accounts === 'all' || (app.accounts ?? [await firstAccount()]).includes(input.accountId)
  return isServed ? appOf(deps.config).tokenFor(repository) : null
}

/** One App per configuration, so that its tokens are cached. */
const apps = new WeakMap<Config, GitHubApp>()

function appOf(config: Config): GitHubApp {
  let made = apps.get(config)
  if (made === undefined) {
    const { id, privateKeyFile, apiUrl } = config.github.app!
    made = makeGitHubApp({ appId: id, privateKey: readFileSync(privateKeyFile, 'utf8'), apiUrl })
    apps.set(config, made)
  }
  return made
}
