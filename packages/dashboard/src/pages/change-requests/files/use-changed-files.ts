/** The files of a diff as they are read: those of the first screen at once, the others a few milliseconds at a time. */
import { useEffect, useState } from 'react'
import type { Diff } from '../../../queries.ts'
import { type ChangedFile, changedFiles, readFile } from './changed-files.ts'

/** A frame has 16, of which drawing needs some. */
const sliceMs = 8
/** Nobody waits for the files below the first screen before they see it. */
const firstFiles = 30

export function useChangedFiles(diff: Diff): ChangedFile[] {
  const [reading, setReading] = useState(() => begin(diff))
  // The files of another diff are there at once, not after a frame with those of the one before.
  const current = reading.diff === diff ? reading : begin(diff)
  if (current !== reading) setReading(current)
  const { files, read } = current
  useEffect(() => {
    if (read >= files.length) return
    const timer = setTimeout(() => setReading((before) => (before.diff === diff ? readMore(before) : before)))
    return () => clearTimeout(timer)
  }, [diff, files, read])
  return files
}

interface Reading {
  diff: Diff
  files: ChangedFile[]
  /** So many of them have their lines. */
  read: number
}

function begin(diff: Diff): Reading {
  return readMore({ diff, files: changedFiles(diff), read: 0 }, firstFiles)
}

function readMore({ diff, files, read }: Reading, atMost = Infinity): Reading {
  const end = performance.now() + sliceMs
  const next = [...files]
  let at = read
  while (at < files.length && at - read < atMost && (at === read || performance.now() < end)) {
    next[at] = readFile(files[at]!)
    at++
  }
  return { diff, files: next, read: at }
}
