import { git, GitError } from '../process/git.ts'
import { hostMessages } from './host-messages.ts'
import type { CallOptions, Remote, SshAccess } from '../repository.ts'

type TrustOutcome = { kind: 'learnt'; knownHosts: string } | { kind: 'unreachable'; reason: string }

/** Stores an ssh host's key at the first contact, whether or not the host accepts our key. */
export async function learnHostKey(
  remote: Remote & { ssh: SshAccess },
  options: CallOptions = {},
): Promise<TrustOutcome> {
  let knownHosts = ''
  const ssh: SshAccess = { key: remote.ssh.key, knownHosts: null, learnt: (lines) => (knownHosts = lines) }
  const timeoutMs = options.timeoutMs ?? 15_000
  try {
    // 128: the host refused access or is unreachable.
    const { stderr } = await git(null, ['ls-remote', '--', remote.url, 'HEAD'], {
      ...options,
      remote: { ...remote, ssh },
      timeoutMs,
      silentSeconds: Math.max(1, Math.floor(timeoutMs / 5000)),
      lane: 'network',
      accept: [0, 128],
    })
    return /^git-host \S+ \S+$/m.test(knownHosts)
      ? { kind: 'learnt', knownHosts }
      : { kind: 'unreachable', reason: hostMessages(stderr, remote) }
  } catch (error) {
    if (!(error instanceof GitError) || error.failure === 'aborted') throw error
    return { kind: 'unreachable', reason: 'The git host gave no answer in time.' }
  }
}
