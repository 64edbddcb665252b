/** The service's list of files and the viewer's parsed patch, brought together. */
import type { FileDiffMetadata } from '@pierre/diffs'
import type { Diff } from '../../../queries.ts'
import { type PatchHeader, patchFiles } from './patch-files.ts'

export interface ChangedFile {
  path: string
  oldPath: string | null
  status: 'added' | 'modified' | 'deleted' | 'renamed'
  additions: number
  deletions: number
  /** What the viewer shows; null for a file without text to show, and for one that was not read yet. */
  view: FileDiffMetadata | null
  /** Why there will be no view. */
  reason: 'binary' | 'truncated' | 'empty' | null
  /** Its lines, until they were read. */
  unread: (() => FileDiffMetadata | null) | null
  /** Changes with what the file became: a mark set under it ends when the file changes, however it is compared. */
  version: string
  /** The comparison it is of: the viewer draws a file anew when this changes. */
  comparison: string
}

export function changedFiles(diff: Diff): ChangedFile[] {
  const comparison = [
    diff.base_sha,
    diff.merge_base,
    diff.head_sha,
    diff.whitespace_only === undefined ? '' : 'w',
  ].join('-')
  const inPatch = patchFiles(diff.patch, comparison)
  return diff.files.map((file): ChangedFile => {
    const found = inPatch.get(file.path)
    const header = found?.header ?? null
    const hasLines = found?.hasLines === true
    return {
      path: file.path,
      oldPath: file.old_path,
      status: file.status,
      additions: file.additions,
      deletions: file.deletions,
      view: null,
      unread: hasLines ? found.read : null,
      reason: hasLines ? null : file.binary ? 'binary' : header === null && diff.truncated ? 'truncated' : 'empty',
      comparison,
      version: versionOf(file.status, header, diff.head_sha),
    }
  })
}

export function readFile(file: ChangedFile): ChangedFile {
  if (file.unread === null) return file
  const view = file.unread()
  return { ...file, view: view === null ? null : asWhole(view), unread: null }
}

/** Lines of context git puts around a change. */
const contextLines = 3

/** A patch that begins with the first line and ends with the last is the whole file: nothing more is to be loaded. */
function asWhole(view: FileDiffMetadata): FileDiffMetadata {
  const [hunk, ...others] = view.hunks
  const last = hunk?.hunkContent.at(-1)
  const reachesBoth = hunk !== undefined && others.length === 0 && hunk.additionStart <= 1 && hunk.deletionStart <= 1
  if (!reachesBoth || (last?.type === 'context' && last.lines >= contextLines)) return view
  return { ...view, isPartial: false }
}

/** Without content of its own (a new name, a new mode) a file stays as it was seen; one left out of the patch is seen at this head alone. */
function versionOf(status: ChangedFile['status'], header: PatchHeader | null, headSha: string): string {
  if (header === null) return headSha
  return status === 'deleted' ? `deleted ${header.prevObjectId}` : (header.newObjectId ?? 'unchanged')
}
