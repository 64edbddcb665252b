/** A folder or a file of a session, before secrets are replaced. Names and targets are paths as the service shows them. */
import type { GitState } from '@svc/contract/daemon/work-tree'
import type { SessionFiles } from '@svc/contract'

type Entries = Extract<SessionFiles, { type: 'directory' }>['entries']

export type Found =
  | { kind: 'directory'; git: GitState | null; entries: Omit<Entries[number], 'path'>[]; truncated: boolean }
  /** `content` is the beginning of a larger file. */
  | { kind: 'file' | 'executable'; git: GitState | null; size: number; content: Uint8Array }
  | { kind: 'symlink'; git: GitState | null; target: string }
  | { kind: 'special'; git: GitState | null }
  | { kind: 'missing'; why: 'absent' | 'link' | 'denied' | 'git' | 'submodule' }
