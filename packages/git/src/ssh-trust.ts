import { git, GitError } from './git.ts'
import { hostWords } from './host-words.ts'
import type { CallOptions, Remote, SshAccess } from './repository.ts'

export type TrustOutcome = { kind: 'learnt'; knownHosts: string } | { kind: 'unreachable'; reason: string }

/** The key by which an ssh host proves itself, taken down at the first meeting. Whether the host lets us in is another question. */
export async function learnHostKey(
  remote: Remote & { ssh: SshAccess },
  options: CallOptions = {},
): Promise<TrustOutcome> {
  let knownHosts = ''
  const ssh: SshAccess = { key: remote.ssh.key, knownHosts: null, learnt: (lines) => (knownHosts = lines) }
  const timeoutMs = options.timeoutMs ?? 15_000
  try {
    // 128: the host did not let us in, or is not there at all.
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
      : { kind: 'unreachable', reason: hostWords(stderr, remote) }
  } catch (error) {
    if (!(error instanceof GitError) || error.failure === 'aborted') throw error
    return { kind: 'unreachable', reason: 'The git host gave no answer in time.' }
  }
}
