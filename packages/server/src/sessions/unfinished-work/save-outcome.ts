/** The outcome of one attempt to save the unfinished work of a sandbox. */
export type SaveOutcome =
  | { kind: 'clean' }
  | { kind: 'saved'; isNew: boolean }
  /** The daemon was unavailable or sent invalid data. The last save stays. */
  | { kind: 'failed'; reason: string }
  /** There is no space for it. The last save stays, and the session shows the reason. */
  | { kind: 'no-space'; reason: string }
