/** POST /svc/files: one folder or one file of the work tree, as it is at this moment. */

/** Relative to the work tree, without `.` and `..`; empty for the work tree itself. */
export interface ReadFilesBody {
  /** A path is bytes: one character for each, as in Latin-1. */
  path: string
}

/** Compared with the commit that is checked out. A folder with new and with committed files is `changed`. */
export type GitState = 'committed' | 'changed' | 'new' | 'ignored'

export type FileKind = 'file' | 'executable' | 'directory' | 'symlink' | 'special'

export interface WorkTreeEntry {
  /** Bytes, as the path. */
  name: string
  kind: FileKind
  /** Null for anything but a file. */
  size: number | null
  git: GitState | null
}

/** `git` is null where git did not answer in time, or has no answer. */
export type ReadFilesReply =
  | { kind: 'directory'; git: GitState | null; entries: WorkTreeEntry[]; truncated: boolean }
  | { kind: 'file' | 'executable'; git: GitState | null; size: number; content_base64: string }
  /** Bytes, as the path. Nothing follows a link. */
  | { kind: 'symlink'; git: GitState | null; target: string }
  | { kind: 'special'; git: GitState | null }
  /** `link`: the path leads through a symbolic link. `denied`: the agent's user may not read it. */
  | { kind: 'missing'; why: 'absent' | 'link' | 'denied' | 'git' }

/** The first ones by name. */
export const workTreeEntriesMax = 5_000
/** Enough for an image; the text that people see is cut earlier. */
export const workTreeFileBytesMax = 4 * 1024 * 1024
export const workTreePathBytesMax = 4_096
