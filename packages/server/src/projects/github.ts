import { readFileSync } from 'node:fs'
import { type AppTokenOutcome, type GitHubApp, gitHubRepository, makeGitHubApp } from '@svc/git'
import { firstOwner } from '../accounts/store.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'

/** The API of the host a repository is on; null for hosts that are not GitHub-style, and for ssh, whose key is no token. */
export function gitHubApiOf(config: Pick<Config, 'github'>, url: string): string | null {
  if (!/^https?:/.test(url)) return null
  return config.github.apis[new URL(url).host] ?? null
}

/**
 * The credential the operator's App gives for a repository; null where the App has no say. It knows where it is
 * installed, but not which user of this server may go there, so it serves the accounts its operator named.
 */
export async function appToken(
  deps: Pick<Deps, 'config' | 'db'>,
  input: { url: string; accountId: string },
): Promise<AppTokenOutcome | null> {
  const { app } = deps.config.github
  const repository = gitHubRepository(input.url)
  if (app === null || repository === null || gitHubApiOf(deps.config, input.url) !== app.apiUrl) return null
  const isServed =
    app.accounts === 'all' || (app.accounts ?? [(await firstOwner(deps.db))?.account_id]).includes(input.accountId)
  return isServed ? appOf(deps.config).tokenFor(repository) : null
}

/** One App for each configuration, so that its tokens are kept. */
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
