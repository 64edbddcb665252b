import type { CallOptions, Remote, Repository, Sha } from './repository.ts'
export type TipsOutcome =
  /** Only branches that exist are in `tips`; `head` is the branch that HEAD points to, which an empty repository has too. */
  { kind: 'tips'; tips: Map<string, Sha>; head: string | null } | { kind: 'unreachable'; reason: string }
export async function readTips(
  _repo: Repository,
  _branches: string[] | 'all',
  _options: CallOptions = {},
): Promise<TipsOutcome> {
  throw new Error('readTips is not built yet.')
}
export interface ProbeOutcome {
  kind: 'writable' | 'readable' | 'unreachable' | 'unauthorized'
  reason: string | null
  defaultBranch: string | null
  empty: boolean
}
export async function probeRemote(_remote: Remote, _options: CallOptions = {}): Promise<ProbeOutcome> {
  throw new Error('probeRemote is not built yet.')
}
