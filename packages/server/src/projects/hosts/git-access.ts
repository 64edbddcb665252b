import { ServiceError } from '@svc/contract'
import { looksLikePrivateKey, makeSshKeyPair, readPrivateKey, type Remote } from '@svc/git'

/** How a project authenticates at its git host: a user name with a token, or an ssh key with the host's known key. */
export type GitAccess =
  | { kind: 'token'; username: string; token: string }
  | { kind: 'ssh-key'; key: string; knownHosts: string | null }

export const defaultUsername = 'x-access-token'

/** The access in a request; null when there is none. The form tells a private key from a token. */
export function accessGiven(input: {
  git_token?: string | undefined
  git_username?: string | undefined
}): GitAccess | null {
  if (input.git_token === undefined) return null
  if (!looksLikePrivateKey(input.git_token))
    return { kind: 'token', username: input.git_username ?? defaultUsername, token: input.git_token }
  const read = readPrivateKey(input.git_token)
  if (read.kind === 'refused') throw accessRefused(`The key ${read.reason}.`, read.reason)
  return { kind: 'ssh-key', key: read.key, knownHosts: null }
}

/** A key made here, which is never shown to anything but its project's host. */
export function makeAccess(
  input: { git_token?: string | undefined; git_username?: string | undefined },
  comment: string,
): { access: GitAccess & { kind: 'ssh-key' }; publicKey: string } {
  if (input.git_token !== undefined || input.git_username !== undefined)
    throw new ServiceError('invalid', 'Leave out git_token: the server creates the key.', {
      detail: { issues: [{ path: 'git_token', message: 'cannot be combined with git_ssh_key' }] },
    })
  const { privateKey, publicKey } = makeSshKeyPair(comment)
  return { access: { kind: 'ssh-key', key: privateKey, knownHosts: null }, publicKey }
}

export function keyWithoutSsh(): ServiceError {
  return new ServiceError('invalid', 'A key requires a repository with an ssh:// URL.', {
    detail: { issues: [{ path: 'git_ssh_key', message: 'requires an ssh:// repo_url' }] },
  })
}

/** A token goes with http and a key with ssh, so that neither is ever shown to the other's host. */
export function requireFitting(access: GitAccess | null, protocol: 'ssh' | 'other', policy: { allowPrivate: boolean }) {
  if (access?.kind === 'ssh-key' && protocol !== 'ssh')
    throw accessRefused('A private key requires an ssh:// URL.', 'is a key, but the URL is not ssh')
  if (access?.kind === 'token' && protocol === 'ssh')
    throw accessRefused('A repository with an ssh:// URL needs a private key as its git_token.', 'is not a private key')
  // On a personal machine the ssh keys are the user's own; on a shared server they are the operator's.
  if (access === null && protocol === 'ssh' && !policy.allowPrivate)
    throw accessRefused('A repository with an ssh:// URL needs a private key as its git_token.', 'is required with ssh')
}

/** The sealed value of a project: a token as it is, or a key together with the hosts it may be shown to. */
export function accessToSeal(remote: Remote): string | null {
  if (remote.ssh !== undefined) return JSON.stringify({ ssh_key: remote.ssh.key, known_hosts: remote.ssh.knownHosts })
  return remote.credential?.password ?? null
}

export function accessFromSealed(text: string, project: { repo_url: string; git_username: string | null }): GitAccess {
  if (!project.repo_url.startsWith('ssh://'))
    return { kind: 'token', username: project.git_username ?? defaultUsername, token: text }
  const { ssh_key, known_hosts } = JSON.parse(text) as { ssh_key: string; known_hosts: string }
  return { kind: 'ssh-key', key: ssh_key, knownHosts: known_hosts }
}

function accessRefused(message: string, issue: string): ServiceError {
  return new ServiceError('repository_refused', message, {
    detail: { issues: [{ path: 'git_token', message: issue }] },
  })
}
