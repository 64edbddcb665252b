import type { CallOptions, Remote, Repository, Sha } from './repository.ts'
export async function createManagedRepository(_dir: string, _opts: { defaultBranch: string }): Promise<Repository> {
  throw new Error('createManagedRepository is not built yet.')
}
export async function openMirror(_dir: string, _remote: Remote): Promise<Repository> {
  throw new Error('openMirror is not built yet.')
}
export type BringOutcome =
  | { kind: 'present' }
  | { kind: 'unreachable'; reason: string }
  | { kind: 'missing'; shas: Sha[] }
export async function bringObjects(_repo: Repository, _shas: Sha[], _options: CallOptions = {}): Promise<BringOutcome> {
  throw new Error('bringObjects is not built yet.')
}
/** Packs, writes the commit-graph, never prunes. For a job that runs now and then. */
export async function tidyRepository(_repo: Repository, _options: CallOptions = {}): Promise<void> {
  throw new Error('tidyRepository is not built yet.')
}
/** Replaces a broken mirror by a fresh one; what only our store holds (`refs/svc/*`) is carried over as far as it can be read. */
export async function rebuildMirror(_repo: Repository, _options: CallOptions = {}): Promise<BringOutcome> {
  throw new Error('rebuildMirror is not built yet.')
}
