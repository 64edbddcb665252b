import { join } from 'node:path'
import { ServiceError } from '@svc/contract'
import { judgeRepositoryUrl, openMirror, type Remote, type Repository } from '@svc/git'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from './store.ts'

type RepositoryDeps = Pick<Deps, 'config' | 'keyring'>

const defaultUsername = 'x-access-token'

export function managedDir(deps: Pick<Deps, 'config'>, projectId: string): string {
  return join(deps.config.dataDir, 'repositories', `${projectId}.git`)
}

export function mirrorDir(deps: Pick<Deps, 'config'>, projectId: string): string {
  return join(deps.config.dataDir, 'mirrors', `${projectId}.git`)
}

/** How long an address found by name is used: long enough to keep lookups off every read, short enough to follow a host that moves. */
const judgedMs = 30_000
const judged = new LRUCache<string, Remote>({ max: 1000, ttl: judgedMs })

/** The repository of a project, ready for the git engine: a bare folder, and for an external one the remote it mirrors, with its address checked and pinned. */
export async function openRepository(deps: RepositoryDeps, project: ProjectRow): Promise<Repository> {
  if (project.managed) return { dir: managedDir(deps, project.project_id), remote: null }
  const key = `${project.project_id} ${project.updated_at}`
  let remote = judged.get(key)
  if (remote === undefined) {
    remote = await judgeRemote(deps, { url: project.repo_url, credential: credentialOf(deps, project) })
    judged.set(key, remote)
  }
  return openMirror(mirrorDir(deps, project.project_id), remote)
}

export async function judgeRemote(
  deps: Pick<Deps, 'config'>,
  input: { url: string; credential: { username: string; password: string } | null },
): Promise<Remote> {
  const verdict = await judgeRepositoryUrl(input.url, { allowPrivate: deps.config.allowPrivateGitHosts })
  if (verdict.kind === 'refused')
    throw new ServiceError('repository_refused', verdict.reason, {
      detail: { issues: [{ path: 'repo_url', message: verdict.reason }] },
    })
  return { url: verdict.url, credential: input.credential, pin: verdict.pin, allowProtocols: verdict.allowProtocols }
}

function credentialOf(deps: Pick<Deps, 'keyring'>, project: ProjectRow): { username: string; password: string } | null {
  if (project.git_token === null) return null
  const password = deps.keyring.open({
    projectId: project.project_id,
    dataKey: project.data_key,
    aad: ['git_token'],
    sealed: project.git_token,
  })
  return { username: project.git_username ?? defaultUsername, password }
}

export function sealGitToken(
  deps: Pick<Deps, 'keyring'>,
  project: { project_id: string; data_key: Buffer },
  token: string,
): Buffer {
  return deps.keyring.seal({
    projectId: project.project_id,
    dataKey: project.data_key,
    aad: ['git_token'],
    value: token,
  })
}

export function gitCredential(input: { git_token?: string | undefined; git_username?: string | undefined }) {
  return input.git_token === undefined
    ? null
    : { username: input.git_username ?? defaultUsername, password: input.git_token }
}

export function unreachable(reason: string): ServiceError {
  return new ServiceError('repository_unreachable', `The repository cannot be reached: ${reason}`, {
    hint: 'Check that its address is right and its host is up, then try again.',
  })
}
