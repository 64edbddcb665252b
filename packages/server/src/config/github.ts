import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isHttpUrl, type Settings } from './settings.ts'

export interface GitHubConfig {
  /** Base address of the API by host name (with its port, if it has one). */
  apis: Record<string, string>
  /** The operator's App. It serves the named accounts; null: only the first account of this server. */
  app: { id: string; privateKeyFile: string; apiUrl: string; accounts: 'all' | string[] | null } | null
}

const gitHubApi = 'https://api.github.com'

/** github.com is built in; other hosts are listed as `host` or as `host=address of its API`. */
export function readGitHub(settings: Settings): GitHubConfig {
  const apiUrl = settings.url('SVC_GITHUB_API_URL')
  const apis: Record<string, string> = { 'github.com': gitHubApi }
  for (const entry of settings.list('SVC_GITHUB_HOSTS')) {
    const [host = '', api = `https://${host.toLowerCase()}/api/v3`] = entry.split('=')
    if (/^[a-z0-9.-]+(:\d{1,5})?$/i.test(host) && isHttpUrl(api)) apis[host.toLowerCase()] = api.replace(/\/+$/, '')
    else
      settings.problem(
        ['SVC_GITHUB_HOSTS'],
        `SVC_GITHUB_HOSTS must list host names, or host=https://url-of-its-api, but has ${JSON.stringify(entry)}.`,
      )
  }
  const [id, file] = [settings.text('SVC_GITHUB_APP_ID'), settings.text('SVC_GITHUB_APP_PRIVATE_KEY_FILE')]
  if (id === null && file === null) return { apis, app: null }
  if (id === null || file === null) {
    settings.problem(
      ['SVC_GITHUB_APP_ID', 'SVC_GITHUB_APP_PRIVATE_KEY_FILE'],
      'SVC_GITHUB_APP_ID and SVC_GITHUB_APP_PRIVATE_KEY_FILE go together: set both or none.',
    )
    return { apis, app: null }
  }
  if (!/^[A-Za-z0-9.]{1,64}$/.test(id))
    settings.problem(['SVC_GITHUB_APP_ID'], 'SVC_GITHUB_APP_ID must be the App’s id or client id.')
  const privateKeyFile = resolve(file)
  try {
    createPrivateKey(readFileSync(privateKeyFile, 'utf8'))
  } catch {
    settings.problem(
      ['SVC_GITHUB_APP_PRIVATE_KEY_FILE'],
      `SVC_GITHUB_APP_PRIVATE_KEY_FILE must be a readable private key (PEM), but is ${privateKeyFile}.`,
    )
  }
  const named = settings.list('SVC_GITHUB_APP_ACCOUNTS')
  const accounts = named.length === 0 ? null : named.includes('*') ? ('all' as const) : named
  return { apis, app: { id, privateKeyFile, apiUrl: apiUrl ?? gitHubApi, accounts } }
}
