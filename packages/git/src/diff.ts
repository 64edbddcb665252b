import type { CallOptions, Repository, Sha } from './repository.ts'
export interface DiffFile {
  path: string
  old_path: string | null
  status: 'added' | 'modified' | 'deleted' | 'renamed'
  additions: number
  deletions: number
  binary: boolean
}
export interface Diff {
  base_sha: Sha
  head_sha: Sha
  merge_base: Sha | null
  files: DiffFile[]
  files_changed: number
  additions: number
  deletions: number
  patch: string
  truncated: boolean
}
export async function diffCommits(
  _repo: Repository,
  _pair: { baseSha: Sha; headSha: Sha; renames?: boolean },
  _options: CallOptions = {},
): Promise<Diff> {
  throw new Error('diffCommits is not built yet.')
}
export function streamPatch(
  _repo: Repository,
  _pair: { baseSha: Sha; headSha: Sha; renames?: boolean },
  _options: CallOptions = {},
): ReadableStream<Uint8Array> {
  throw new Error('streamPatch is not built yet.')
}
