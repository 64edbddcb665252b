/** Decides which repository addresses this server contacts, and for whom. Runs when a project is made and at every use. */
import { existsSync } from 'node:fs'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { fileURLToPath } from 'node:url'
import { ServiceError } from '@svc/contract'
import { closedNetwork, judgeLocalRepository, judgeRepositoryUrl, type UrlPolicy, type UrlVerdict } from '@svc/git'
import { type FirstAccount, isOfInstance } from '../../accounts/store.ts'
import type { Deps } from '../../deps.ts'
import { recordedRunDir } from '../../startup/run-dir.ts'
import { gitHubApiOf } from './github.ts'

export interface AddressRequest {
  url: string
  accountId: string
  /** The user who sets the address; undefined where a project already has it. */
  userId?: string | undefined
  /** Shared by the checks of a batch. */
  firstAccount?: FirstAccount | undefined
}

export interface JudgedAddress extends Extract<UrlVerdict, { kind: 'allowed' }> {
  /** Whether this project may use private addresses and the server's own ssh keys. */
  allowPrivate: boolean
}

/**
 * Files on the server's machine and addresses in its network belong to its operator. Only owners of the instance may
 * set them, and projects of other accounts cannot use them, whoever wrote the row.
 */
export async function judgeAddress(
  deps: Pick<Deps, 'config' | 'db'>,
  requested: AddressRequest,
): Promise<JudgedAddress> {
  const { config } = deps
  const ofInstance = { allowPrivate: config.allowPrivateGitHosts, allowFile: config.fileRepositories !== null }
  const isTrusted = await mayUseMachine(deps, requested)
  const policy = isTrusted ? ofInstance : ofOthers(config, requested.url)
  const verdict = await judgeRepositoryUrl(requested.url, policy)
  if (verdict.kind === 'refused') {
    if (verdict.isClosed && !isTrusted && (await judgeRepositoryUrl(requested.url, ofInstance)).kind === 'allowed')
      throw ownersOnly()
    throw refused(verdict.reason)
  }
  const judged = { ...verdict, allowPrivate: isTrusted && ofInstance.allowPrivate }
  if (verdict.allowProtocols.includes('file')) return { ...judged, url: await judgeFile(deps, verdict.url, requested) }
  if (await isOwnAddress(config, verdict.url))
    throw refused('This URL is the service itself, whose repositories are already projects.')
  return judged
}

export type ClosedBy = 'SVC_FILE_REPOSITORY_ROOTS' | 'SVC_ALLOW_PRIVATE_GIT_HOSTS'

/** The setting that keeps this account, which may use the operator's machine and network, from the address. Null: none. */
export async function closedBySettings(
  deps: Pick<Deps, 'config' | 'db'>,
  requested: AddressRequest,
): Promise<ClosedBy | null> {
  const { config } = deps
  if (!(await mayUseMachine(deps, requested))) return null
  const policy = { allowPrivate: config.allowPrivateGitHosts, allowFile: config.fileRepositories !== null }
  const verdict = await judgeRepositoryUrl(requested.url, policy)
  const isFile = requested.url.startsWith('file:')
  if (verdict.kind === 'refused' && verdict.isClosed !== true) return null
  if (verdict.kind === 'refused') return isFile ? 'SVC_FILE_REPOSITORY_ROOTS' : 'SVC_ALLOW_PRIVATE_GIT_HOSTS'
  if (!isFile || !existsSync(fileURLToPath(verdict.url))) return null
  // The folders of the setting may be others than at the time of the project.
  return judgeFile(deps, verdict.url, requested).then(
    () => null,
    () => 'SVC_FILE_REPOSITORY_ROOTS',
  )
}

/** A git host that the operator configured by name is open to all, wherever it is. */
function ofOthers(config: Deps['config'], url: string): UrlPolicy {
  const host = URL.canParse(url) ? new URL(url).host : null
  const isNamed = host !== null && (host === config.gitHost?.host || gitHubApiOf(config, url) !== null)
  return {
    allowPrivate: isNamed && config.allowPrivateGitHosts,
    allowFile: false,
    allowHttp: config.allowPrivateGitHosts,
  }
}

/** Whether this account, and this user if given, may use what is private to the operator. */
export async function mayUseMachine(
  deps: Pick<Deps, 'db'>,
  { accountId, userId, firstAccount }: Omit<AddressRequest, 'url'>,
): Promise<boolean> {
  return isOfInstance(deps.db, { account_id: accountId, owner: userId, firstAccount })
}

async function judgeFile({ config }: Pick<Deps, 'config'>, url: string, { userId }: AddressRequest): Promise<string> {
  const closed = [config.dataDir, await recordedRunDir(config)].filter((path) => path !== null)
  const roots = config.fileRepositories?.roots ?? []
  const verdict = await judgeLocalRepository(fileURLToPath(url), { roots, closed })
  if (verdict.kind === 'refused') throw refused(verdict.reason)
  // The project stores the real path. If that path becomes a link later, it names another repository than the adopted one.
  if (userId === undefined && verdict.url !== url)
    throw refused('The path of this repository is now a link to another location.')
  return verdict.url
}

/** Through its own gateway the server would mirror itself, and one lock would wait for the other. */
async function isOwnAddress({ port, publicUrl }: Deps['config'], url: string): Promise<boolean> {
  if (!/^https?:/.test(url)) return false
  const [requested, own] = [new URL(url), new URL(publicUrl)]
  const requestedPort = portOf(requested)
  if (requested.hostname === own.hostname && requestedPort === portOf(own)) return true
  if (requestedPort !== port && requestedPort !== portOf(own)) return false
  const host = requested.hostname.replace(/^\[|\]$/g, '')
  // git resolves every name below it to this machine, whatever this process's resolver returns.
  if (/(?:^|\.)localhost$/.test(host)) return true
  // A name that does not resolve cannot be this server.
  const addresses = isIP(host)
    ? [host]
    : await lookup(host, { all: true }).then(
        (all) => all.map((each) => each.address),
        () => [],
      )
  const mine = new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map((each) => each.address)))
  return addresses.some(
    (address) => mine.has(address) || /^this (?:machine|network)$/.test(closedNetwork(address) ?? ''),
  )
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}

function ownersOnly(): ServiceError {
  return new ServiceError('forbidden', 'Only an owner of this server can use its files and private addresses.', {
    hint: "Use an https:// or ssh:// URL, or ask an owner of this server's first account to create the project.",
  })
}

function refused(reason: string): ServiceError {
  return new ServiceError('repository_refused', reason, { detail: { issues: [{ path: 'repo_url', message: reason }] } })
}
