/** The files of a diff as they are read: those of the first screen at once, the others a few milliseconds at a time. */
import { useEffect, useState } from 'react'
import type { Diff } from '../../../queries.ts'
import { type ChangedFile, changedFiles, readFile } from './changed-files.ts'

/** A frame has 16, of which drawing needs some. */
const sliceMs = 8
/** Nobody waits for the files below the first screen before they see it. */
const firstFiles = 30
/** So many more are shown together: each showing costs something for all files, and too many at once are one long task. */
const shownTogether = 150

interface Reading {
  diff: Diff
  files: ChangedFile[]
  /** So many of them have their lines. */
  read: number
}

/** `isDrawn`: the first screen is, so that reading on takes no time from it. */
export function useChangedFiles(diff: Diff, isDrawn: boolean): ChangedFile[] {
  const [reading, setReading] = useState(() => begin(diff))
  // The files of another diff are there at once, not after a frame with those of the one before.
  const current = reading.diff === diff ? reading : begin(diff)
  if (current !== reading) setReading(current)
  const mayReadOn = isDrawn || current.files.slice(0, current.read).every(({ view }) => view === null)
  useEffect(() => {
    if (!mayReadOn) return undefined
    return readOn(current, (more) => setReading((before) => (before === current ? more : before)))
  }, [current, mayReadOn])
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

/** Answers with what ends it. */
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
