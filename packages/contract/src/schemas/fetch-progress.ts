/** The progress in a `repository_fetching` error, and its text for terminals and pages. */

export interface RepositoryProgress {
  is_first: boolean
  phase: 'connecting' | 'counting' | 'receiving' | 'resolving'
  objects: number
  /** null: the git host still counts them. */
  objects_total: number | null
  bytes: number
}

export function readFetchProgress(value: unknown): RepositoryProgress | null {
  if (typeof value !== 'object' || value === null) return null
  const { is_first, phase, objects, objects_total, bytes } = value as Record<string, unknown>
  if (typeof objects !== 'number' || typeof bytes !== 'number') return null
  const known = phases.find((each) => each === phase) ?? 'connecting'
  const total = typeof objects_total === 'number' ? objects_total : null
  return { is_first: is_first === true, phase: known, objects, objects_total: total, bytes }
}

const phases = ['connecting', 'counting', 'receiving', 'resolving'] as const

/** "Fetching the repository for the first time: 120,000 of 400,000 objects, 48.2 MB" */
export function fetchProgressText(progress: RepositoryProgress | null): string {
  const subject = progress?.is_first === true ? 'the repository for the first time' : 'new commits from the git host'
  const state = progress === null ? null : stateText(progress)
  return `Fetching ${subject}${state === null ? '…' : `: ${state}`}`
}

function stateText({ phase, objects, objects_total, bytes }: RepositoryProgress): string | null {
  switch (phase) {
    case 'connecting':
      return null
    case 'counting':
      return 'the git host is counting objects'
    case 'receiving':
    case 'resolving': {
      const size = bytes === 0 ? '' : `, ${(bytes / 1_000_000).toFixed(1)} MB`
      if (phase === 'resolving') return `${count(objects)} objects${size}, resolving deltas`
      return `${count(objects)}${objects_total === null ? '' : ` of ${count(objects_total)}`} objects${size}`
    }
    default:
      return phase satisfies never
  }
}

const count = (value: number) => value.toLocaleString('en-US')
