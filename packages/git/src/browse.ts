import type { CallOptions, Repository, Sha } from './repository.ts'
export interface CommitEntry {
  sha: Sha
  parents: Sha[]
  author_name: string
  author_email: string
  authored_at: string
  committed_at: string
  subject: string
  body: string
}
export interface TreeEntry {
  name: string
  path: string
  type: 'file' | 'executable' | 'directory' | 'symlink' | 'submodule'
  sha: Sha
  size: number | null
}
export type FileOutcome =
  | { kind: 'file'; sha: Sha; mode: string; size: number; content: Uint8Array; binary: boolean; truncated: boolean }
  | { kind: 'directory' | 'submodule' | 'missing' }
export async function listCommits(
  _repo: Repository,
  _input: { sha: Sha; limit: number; path?: string },
  _options: CallOptions = {},
): Promise<CommitEntry[]> {
  throw new Error('listCommits is not built yet.')
}
export async function listTree(
  _repo: Repository,
  _input: { sha: Sha; path: string },
  _options: CallOptions = {},
): Promise<TreeEntry[] | null> {
  throw new Error('listTree is not built yet.')
}
export async function readFileAt(
  _repo: Repository,
  _input: { sha: Sha; path: string; bytesMax?: number },
  _options: CallOptions = {},
): Promise<FileOutcome> {
  throw new Error('readFileAt is not built yet.')
}
