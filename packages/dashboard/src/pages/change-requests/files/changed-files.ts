/** Joins the service's list of files with the parsed patch. */
import type { FileDiffMetadata } from '@pierre/diffs'
import type { Diff } from '../queries.ts'
import { type PatchHeader, patchFiles } from '../diff/patch-files.ts'

export interface ChangedFile {
  path: string
  oldPath: string | null
  status: 'added' | 'modified' | 'deleted' | 'renamed'
  additions: number
  deletions: number
  /** The parsed lines; null for a file without a text diff, and until the file is read. */
  view: FileDiffMetadata | null
  /** Why there is no text diff. */
  reason: 'binary' | 'truncated' | 'empty' | null
  /** Reads the lines; null afterwards. */
  unread: (() => FileDiffMetadata | null) | null
  /** Identifies the new content. A viewed mark applies to one version, independent of the comparison. */
  version: string
  /** Identifies the compared commits. The viewer renders a file again when this changes. */
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

/** Git's context lines around a change. */
const contextLines = 3

/** If one hunk covers the whole file, no more context can be loaded. */
function asWhole(view: FileDiffMetadata): FileDiffMetadata {
  const [hunk, ...others] = view.hunks
  const last = hunk?.hunkContent.at(-1)
  const reachesBoth = hunk !== undefined && others.length === 0 && hunk.additionStart <= 1 && hunk.deletionStart <= 1
  if (!reachesBoth || (last?.type === 'context' && last.lines >= contextLines)) return view
  return { ...view, isPartial: false }
}

/** A rename or mode change keeps its version. A file omitted from the patch has one version for each head. */
function versionOf(status: ChangedFile['status'], header: PatchHeader | null, headSha: string): string {
  if (header === null) return headSha
  return status === 'deleted' ? `deleted ${header.prevObjectId}` : (header.newObjectId ?? 'unchanged')
}
