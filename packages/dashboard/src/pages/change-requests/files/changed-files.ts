import { useEffect, useState } from 'react'
import type { FileDiffMetadata } from '@pierre/diffs'
import type { Diff } from '../queries.ts'
import { patchFiles, type PatchHeader } from '../diff/patch-files.ts'

/** Part of a frame's 16 ms, because rendering needs some. */
const sliceMs = 8
/** The files of the first screen. */
const firstFiles = 30
/** The files that one render adds. Each render costs time for all files, and too many at once block the page. */
const shownTogether = 150

/** The part of a diff that its files are read from. */
export type FilesOf = Pick<
  Diff,
  'base_sha' | 'merge_base' | 'head_sha' | 'whitespace_only' | 'files' | 'patch' | 'truncated' | 'isWhole'
>

interface Reading {
  diff: FilesOf
  files: ChangedFile[]
  /** The number of files that have their lines. */
  read: number
}

/**
 * Reads the files of a diff: the first screen at once, the others in slices of a few milliseconds. `isRendered`: the first
 * screen is rendered, so reading the others does not delay it.
 */
export function useChangedFiles(diff: FilesOf, isRendered: boolean): ChangedFile[] {
  const [reading, setReading] = useState(() => begin(diff))
  // A new diff shows its own files immediately, not after a frame with the old ones.
  const current = reading.diff === diff ? reading : begin(diff, reading)
  if (current !== reading) setReading(current)
  const canContinue = isRendered || current.files.slice(0, current.read).every(({ view }) => view === null)
  useEffect(() => {
    if (!canContinue) return undefined
    return readOn(current, (more) => setReading((before) => (before === current ? more : before)))
  }, [current, canContinue])
  return current.files
}

/** `before` is what was read of the same diff when less of it had arrived. */
function begin(diff: FilesOf, before: Reading | null = null): Reading {
  const files = changedFiles(diff)
  const read = new Map(
    before?.diff.files === diff.files ? before.files.flatMap((file) => (file.view ? [[file.path, file]] : [])) : [],
  )
  return {
    diff,
    files: files.map((file, at) => read.get(file.path) ?? (at < firstFiles ? readFile(file) : file)),
    read: Math.min(firstFiles, files.length),
  }
}

/** Returns a function that stops reading. */
function readOn({ diff, files, read }: Reading, show: (more: Reading) => void): () => void {
  const to = Math.min(files.length, read + shownTogether)
  const next = [...files]
  let at = read
  let timer: ReturnType<typeof setTimeout> | undefined
  const slice = () => {
    const end = performance.now() + sliceMs
    do {
      next[at] = readFile(files[at]!)
      at++
    } while (at < to && performance.now() < end)
    if (at < to) timer = setTimeout(slice)
    else show({ diff, files: next, read: at })
  }
  if (at < to) timer = setTimeout(slice)
  return () => clearTimeout(timer)
}

export interface ChangedFile {
  path: string
  oldPath: string | null
  status: 'added' | 'modified' | 'deleted' | 'renamed'
  additions: number
  deletions: number
  /** Bytes of a binary file. */
  oldSize: number | null
  newSize: number | null
  /** Both only when they differ. */
  modes: { before: string; after: string } | null
  /** The parsed lines; null for a file without a text diff, and until the file is read. */
  view: FileDiffMetadata | null
  /** Why there is no text diff. */
  reason: 'binary' | 'truncated' | 'empty' | null
  /** Its lines are still on their way from the service. */
  isArriving: boolean
  /** Reads the lines; null afterwards. */
  unread: (() => FileDiffMetadata | null) | null
  /** Identifies the new content. A viewed mark applies to one version, independent of the comparison. */
  version: string
  /** Identifies the compared commits. The viewer renders a file again when this changes. */
  comparison: string
}

export function changedFiles(diff: FilesOf): ChangedFile[] {
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
    const isArriving = found === undefined && !diff.isWhole
    return {
      path: file.path,
      oldPath: file.old_path,
      status: file.status,
      additions: file.additions,
      deletions: file.deletions,
      oldSize: file.old_size ?? null,
      newSize: file.new_size ?? null,
      modes: modesOf(header),
      view: null,
      unread: hasLines ? found.read : null,
      isArriving,
      reason:
        hasLines || isArriving
          ? null
          : file.binary
            ? 'binary'
            : header === null && diff.truncated
              ? 'truncated'
              : 'empty',
      comparison,
      version: versionOf(file.status, header, diff.head_sha),
    }
  })
}

function modesOf(header: PatchHeader | null): ChangedFile['modes'] {
  const { prevMode: before, mode: after } = header ?? {}
  return before === undefined || after === undefined || before === after ? null : { before, after }
}

function readFile(file: ChangedFile): ChangedFile {
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
