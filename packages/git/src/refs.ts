import type { CallOptions, Repository, Sha } from './repository.ts'
export async function isAncestor(
  _repo: Repository,
  _ancestor: Sha,
  _descendant: Sha,
  _options: CallOptions = {},
): Promise<boolean> {
  throw new Error('isAncestor is not built yet.')
}
export async function mergeBase(_repo: Repository, _a: Sha, _b: Sha, _options: CallOptions = {}): Promise<Sha | null> {
  throw new Error('mergeBase is not built yet.')
}
/** Keeps the two commits of a merged change request reachable, hidden, in our own store. */
export async function keepCommits(_repo: Repository, _number: number, _shas: { base: Sha; head: Sha }): Promise<void> {
  throw new Error('keepCommits is not built yet.')
}
/** Keeps one commit under `refs/svc/<name>`, whatever was there before. */
export async function keepRef(_repo: Repository, _name: string, _sha: Sha): Promise<void> {
  throw new Error('keepRef is not built yet.')
}
export async function readKeptRef(_repo: Repository, _name: string): Promise<Sha | null> {
  throw new Error('readKeptRef is not built yet.')
}
/** Whether git would take this as the name of a branch. */
export function isBranchName(_name: string): boolean {
  throw new Error('isBranchName is not built yet.')
}
