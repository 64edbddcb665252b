/** Reads the files of a diff: the first screen at once, the others in slices of a few milliseconds. */
import { useEffect, useState } from 'react'
import type { Diff } from '../queries.ts'
import { type ChangedFile, changedFiles, readFile } from './changed-files.ts'

/** Part of a frame's 16 ms, because rendering needs some. */
const sliceMs = 8
/** The files of the first screen. */
const firstFiles = 30
/** The files that one render adds. Each render costs time for all files, and too many at once block the page. */
const shownTogether = 150

interface Reading {
  diff: Diff
  files: ChangedFile[]
  /** The number of files that have their lines. */
  read: number
}

/** `isRendered`: the first screen is rendered, so reading the others does not delay it. */
export function useChangedFiles(diff: Diff, isRendered: boolean): ChangedFile[] {
  const [reading, setReading] = useState(() => begin(diff))
  // A new diff shows its own files immediately, not after a frame with the old ones.
  const current = reading.diff === diff ? reading : begin(diff)
  if (current !== reading) setReading(current)
  const canContinue = isRendered || current.files.slice(0, current.read).every(({ view }) => view === null)
  useEffect(() => {
    if (!canContinue) return undefined
    return readOn(current, (more) => setReading((before) => (before === current ? more : before)))
  }, [current, canContinue])
  return current.files
}

function begin(diff: Diff): Reading {
  const files = changedFiles(diff)
  return {
    diff,
    files: files.map((file, at) => (at < firstFiles ? readFile(file) : file)),
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
