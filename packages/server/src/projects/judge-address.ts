/** Which addresses of repositories this server talks to, and for whom. Asked when a project is made and at every use. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { fileURLToPath } from 'node:url'
import { ServiceError } from '@svc/contract'
import { closedNetwork, judgeLocalRepository, judgeRepositoryUrl, type UrlPolicy, type UrlVerdict } from '@svc/git'
import { isOfInstance } from '../accounts/store.ts'
import type { Deps } from '../deps.ts'
import { recordedRunDir } from '../run-dir.ts'
import { gitHubApiOf } from './github.ts'

export interface Asked {
  url: string
  accountId: string
  /** Who brings the address; undefined where a project already has it. */
  userId?: string | undefined
}

export interface JudgedAddress extends Extract<UrlVerdict, { kind: 'allowed' }> {
  /** Whether private addresses and the server's own ssh keys are open to this project. */
  allowPrivate: boolean
}

/**
 * What lies on the server's machine and in its network belongs to its operator. So files and private addresses are for
 * owners of the instance to bring, and projects of other accounts do not reach them, whoever wrote the row.
 */
export async function judgeAddress(deps: Pick<Deps, 'config' | 'db'>, asked: Asked): Promise<JudgedAddress> {
  const { config } = deps
  const ofInstance = { allowPrivate: config.allowPrivateGitHosts, allowFile: config.fileRepositories !== null }
  const isTrusted = await mayUseMachine(deps, asked)
  const policy = isTrusted ? ofInstance : ofOthers(config, asked.url)
  const verdict = await judgeRepositoryUrl(asked.url, policy)
  if (verdict.kind === 'refused') {
    if (verdict.isClosed && !isTrusted && (await judgeRepositoryUrl(asked.url, ofInstance)).kind === 'allowed')
      throw ownersOnly()
    throw refused(verdict.reason)
  }
  const judged = { ...verdict, allowPrivate: isTrusted && ofInstance.allowPrivate }
  if (verdict.allowProtocols.includes('file')) return { ...judged, url: await judgeFile(deps, verdict.url, asked) }
  if (await isOwnAddress(config, verdict.url))
    throw refused('This address is the service itself, whose repositories already are projects.')
  return judged
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

/** Whether what is private to the operator is open to this account, and to this user where one is given. */
export async function mayUseMachine(
  deps: Pick<Deps, 'db'>,
  { accountId, userId }: Pick<Asked, 'accountId' | 'userId'>,
): Promise<boolean> {
  return isOfInstance(deps.db, { account_id: accountId, owner: userId })
}

async function judgeFile({ config }: Pick<Deps, 'config'>, url: string, { userId }: Asked): Promise<string> {
  const closed = [config.dataDir, await recordedRunDir(config)].filter((path) => path !== null)
  const roots = config.fileRepositories?.roots ?? []
  const verdict = await judgeLocalRepository(fileURLToPath(url), { roots, closed })
  if (verdict.kind === 'refused') throw refused(verdict.reason)
  // The project keeps the real path. If that path is a link later, it names another repository than the one adopted.
  if (userId === undefined && verdict.url !== url)
    throw refused('The path of this repository is a link to another place now.')
  return verdict.url
}

/** Through its own gateway the server would mirror itself, and a lock of the one would wait for the other. */
async function isOwnAddress({ port, publicUrl }: Deps['config'], url: string): Promise<boolean> {
  if (!/^https?:/.test(url)) return false
  const [asked, own] = [new URL(url), new URL(publicUrl)]
  const askedPort = portOf(asked)
  if (asked.hostname === own.hostname && askedPort === portOf(own)) return true
  if (askedPort !== port && askedPort !== portOf(own)) return false
  const host = asked.hostname.replace(/^\[|\]$/g, '')
  // Every name below it is this machine to git, whatever the resolver of this process knows.
  if (/(?:^|\.)localhost$/.test(host)) return true
  // A name that does not resolve leads nowhere.
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
  return new ServiceError('forbidden', 'Only an owner of this server may use its files and private addresses.', {
    hint: 'Use an https:// or ssh:// address, or ask an owner of the first account of this server to make the project.',
  })
}

function refused(reason: string): ServiceError {
  return new ServiceError('repository_refused', reason, { detail: { issues: [{ path: 'repo_url', message: reason }] } })
}
