import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { projectSettings, ServiceError } from '@svc/contract'
import { learnHostKey, markUsed, openMirror, type Remote, type Repository, withheldText } from '@svc/git'
import { LRUCache } from 'lru-cache'
import { type FirstAccount, firstAccountOf } from '../accounts/store.ts'
import type { Deps } from '../deps.ts'
import { openFor, sealFor } from '../keyring/of-project.ts'
import { withholding } from '../redaction/withhold.ts'
import { accessFromSealed, defaultUsername, type GitAccess, requireFitting } from './hosts/git-access.ts'
import { apiOfProject, appToken, gitHubApiOf, type HostSettings } from './hosts/github.ts'
import { type AddressRequest, judgeAddress } from './hosts/judge-address.ts'
import type { ProjectRow } from './store.ts'

type RepositoryDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>

export function managedDir(deps: Pick<Deps, 'config'>, projectId: string): string {
  return join(deps.config.dataDir, 'repositories', `${projectId}.git`)
}

export function mirrorDir(deps: Pick<Deps, 'config'>, projectId: string): string {
  return join(deps.config.dataDir, 'mirrors', `${projectId}.git`)
}

/** How long a resolved address is used: long enough to keep lookups off every read, short enough to follow a host that moves. */
const judgedMs = 30_000
const judged = new LRUCache<string, Remote>({ max: 1000, ttl: judgedMs })

/** Opens the repository of a project for the git engine: a bare folder, and for an external one the remote it mirrors, with its address checked and pinned. */
export async function openRepository(deps: RepositoryDeps, project: ProjectRow): Promise<Repository> {
  if (project.managed) {
    const repository = await openRepositoryQuietly(deps, project)
    if (!(await isFolder(repository.dir))) throw lost(project)
    return repository
  }
  for (let tries = 1; ; tries++) {
    const repository = await openRepositoryQuietly(deps, project)
    // The first use after a long time may coincide with another server emptying the mirror.
    if ((await markUsed(repository.dir)) || tries === openTriesMax) return repository
  }
}

async function isFolder(dir: string): Promise<boolean> {
  try {
    return (await stat(dir)).isDirectory()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/**
 * As after a disk was replaced. git serves a part of an answer before it finds no folder, so this is found before. The
 * doctor and the start of the server say what an operator does.
 */
function lost({ home }: ProjectRow): ServiceError {
  const which = home === null ? 'This server' : `The server that keeps this project, ${home},`
  return new ServiceError('unavailable', `${which} does not have its repository on its disk.`, {
    hint: 'Ask the operator of this service to bring it back.',
    detail: { retry_after_seconds: 60 },
  })
}

/** A mirror is replaced by two renames. */
const openTriesMax = 10

/** Opens it without marking it as used, for callers that only measure it. */
export async function openRepositoryQuietly(deps: RepositoryDeps, project: ProjectRow): Promise<Repository> {
  const located = await locateRepository(deps, project)
  const { dir, remote } = located
  return remote === null ? located : { ...located, ...(await openMirror(dir, remote)) }
}

/**
 * For callers that only ask the host, such as a poll of the tips. Does not wait for the mirror: concurrent readers of
 * a project would open it one after another, and behind a fetch.
 */
export async function locateRepository(
  deps: RepositoryDeps,
  project: ProjectRow,
  firstAccount = firstAccountOf(deps.db),
): Promise<Repository> {
  const known = locatedRepository(deps, project)
  if (known !== null) return known
  const remote = await judgeRemote(deps, {
    url: project.repo_url,
    access: accessOf(deps, project),
    accountId: project.account_id,
    settings: projectSettings.parse(project.settings),
    firstAccount,
  })
  const { project_id } = project
  remote.refused = (reason) => deps.log.warn({ project_id, reason }, 'refused data from a git host')
  // A path is checked at every use: it can become a link at any time.
  if (!remote.allowProtocols.includes('file')) judged.set(judgedKey(project), remote)
  return repositoryOf(project, { dir: mirrorDir(deps, project.project_id), remote })
}

/** Without any lookup. Null: the address was not checked yet, or too long ago. */
export function locatedRepository(deps: Pick<Deps, 'config'>, project: ProjectRow): Repository | null {
  const { project_id } = project
  if (project.managed) return repositoryOf(project, { dir: managedDir(deps, project_id), remote: null })
  const remote = judged.get(judgedKey(project))
  return remote === undefined ? null : repositoryOf(project, { dir: mirrorDir(deps, project_id), remote })
}

function repositoryOf(project: ProjectRow, at: Pick<Repository, 'dir' | 'remote'>): Repository {
  return { ...at, group: project.account_id, defaultBranch: project.default_branch }
}

const judgedKey = (project: ProjectRow) => `${project.project_id} ${project.updated_at}`

/** A remote with a checked address, and with the given access or that of the operator's GitHub App. */
export async function judgeRemote(
  deps: Pick<Deps, 'config' | 'db'>,
  input: AddressRequest & { access: GitAccess | null; settings?: HostSettings },
): Promise<Remote> {
  const { url, pin, allowProtocols, allowPrivate } = await judgeAddress(deps, input)
  const { access, accountId } = input
  const firstAccount = input.firstAccount ?? firstAccountOf(deps.db)
  const isSsh = allowProtocols.includes('ssh')
  requireFitting(access, isSsh ? 'ssh' : 'other', { allowPrivate })
  const remote: Remote = { url, pin, allowProtocols, credential: null }
  if (access?.kind === 'ssh-key') remote.ssh = { key: access.key, knownHosts: access.knownHosts }
  else if (access !== null) remote.credential = { username: access.username, password: access.token }
  else
    remote.credential =
      (await appCredential(deps, { url, accountId, firstAccount })) ??
      (await hostCredential(deps, { url, accountId, firstAccount }))
  const sent = [remote.credential?.password, remote.ssh?.key].filter((each) => each !== undefined)
  if (sent.length > 0) remote.guard = withholding(sent, withheldText)
  if (access === null) {
    // The App's or the operator's token is used only with the API its operator configured, never with one a project names.
    const apiUrl = input.settings?.git_host === 'plain' ? null : gitHubApiOf(deps.config, url)
    if (apiUrl !== null) remote.github = { apiUrl }
    return remote
  }
  const api = await apiOfProject(deps.config, { url, settings: input.settings, allowPrivate })
  if (api) remote.github = api
  return remote
}

/** The first contact with an ssh host records the key that identifies it from then on. */
export async function pinHostKey(remote: Remote): Promise<Remote> {
  const { ssh } = remote
  if (ssh === undefined || ssh.knownHosts !== null) return remote
  const met = await learnHostKey({ ...remote, ssh })
  if (met.kind === 'unreachable') throw unreachable(met.reason)
  return { ...remote, ssh: { ...ssh, knownHosts: met.knownHosts } }
}

interface Credentialed {
  url: string
  accountId: string
  firstAccount: FirstAccount
}

async function appCredential(deps: Pick<Deps, 'config' | 'db'>, input: Credentialed): Promise<Remote['credential']> {
  const outcome = await appToken(deps, input)
  switch (outcome?.kind) {
    case undefined:
      return null
    case 'token':
      return { username: defaultUsername, password: outcome.token }
    case 'not-installed':
      throw new ServiceError('repository_refused', outcome.reason, {
        hint: 'Install it there, or give the project a token of its own with --git-token.',
      })
    case 'unreachable':
      throw unreachable(outcome.reason)
    default:
      return outcome satisfies never
  }
}

/**
 * The operator's own token for a host. It reaches everything the operator can, and the server cannot tell which users
 * may, so it serves the first account only, as the App does. Never over plain http, except where private hosts are
 * allowed.
 */
async function hostCredential(
  deps: Pick<Deps, 'config'>,
  { url, accountId, firstAccount }: Credentialed,
): Promise<Remote['credential']> {
  const { gitHost, allowPrivateGitHosts } = deps.config
  if (gitHost === null) return null
  const { protocol, host } = URL.canParse(url) ? new URL(url) : { protocol: '', host: '' }
  if (host !== gitHost.host || (protocol !== 'https:' && !(protocol === 'http:' && allowPrivateGitHosts))) return null
  if ((await firstAccount()) !== accountId) return null
  return { username: gitHost.username ?? defaultUsername, password: gitHost.token }
}

const gitTokenAad = ['git_token']

function accessOf(deps: Pick<Deps, 'keyring'>, project: ProjectRow): GitAccess | null {
  if (project.git_token === null) return null
  return accessFromSealed(openFor(deps, project, gitTokenAad, project.git_token), project)
}

export function sealGitToken(
  deps: Pick<Deps, 'keyring'>,
  project: Pick<ProjectRow, 'project_id' | 'data_key'>,
  token: string,
): Buffer {
  return sealFor(deps, project, gitTokenAad, token)
}

export function unreachable(reason: string): ServiceError {
  return new ServiceError('repository_unreachable', `The repository cannot be reached: ${reason}`, {
    hint: "Check its address, that its host is up, and that it accepts the project's credential (`svc projects info` shows a key that the server created), then try again.",
  })
}
