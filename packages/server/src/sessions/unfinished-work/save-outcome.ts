/** The content of the work tree: a snapshot on top of its HEAD, or HEAD alone. */
export interface WorkTree {
  commit: string
  base: string
}

/** The outcome of one attempt to save the unfinished work of a sandbox. */
export type SaveOutcome =
  | { kind: 'clean'; has: WorkTree | null }
  | { kind: 'saved'; isNew: boolean; has: WorkTree | null }
  /** The daemon was unavailable or sent invalid data, or this server could not store the work (`cause`). The last save stays. */
  | { kind: 'failed'; reason: string; cause?: unknown }
  /** There is no space for it. The last save stays, and the session shows the reason. */
  | { kind: 'no-space'; reason: string }
