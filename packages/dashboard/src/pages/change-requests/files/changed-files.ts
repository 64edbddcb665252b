/** The service's list of files and the viewer's parsed patch, brought together. */
import { type FileDiffMetadata, parsePatchFiles } from '@pierre/diffs'
import type { Diff } from '../../../queries.ts'

export interface ChangedFile {
  path: string
  oldPath: string | null
  status: 'added' | 'modified' | 'deleted' | 'renamed'
  additions: number
  deletions: number
  /** What the viewer shows; null for a file without text to show. */
  view: FileDiffMetadata | null
  /** Why there is no view. */
  reason: 'binary' | 'truncated' | 'empty' | null
  /** Changes with the file's content on either side: a mark set under it ends when the file changes. */
  version: string
}

export function changedFiles(diff: Diff): ChangedFile[] {
  const cacheKeyPrefix = `${diff.base_sha}-${diff.head_sha}`
  const views = new Map(
    parsePatchFiles(diff.patch, { cacheKeyPrefix }).flatMap(({ files }) => files.map((file) => [file.name, file])),
  )
  return diff.files.map((file): ChangedFile => {
    const view = views.get(file.path) ?? null
    const hasLines = view !== null && view.hunks.length > 0
    return {
      path: file.path,
      oldPath: file.old_path,
      status: file.status,
      additions: file.additions,
      deletions: file.deletions,
      view: hasLines ? view : null,
      reason: hasLines ? null : file.binary ? 'binary' : view === null && diff.truncated ? 'truncated' : 'empty',
      version: `${view?.prevObjectId ?? ''}..${view?.newObjectId ?? diff.head_sha}`,
    }
  })
}
