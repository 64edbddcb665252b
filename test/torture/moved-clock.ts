/**
 * Preloaded into a server: shifts its clock by the milliseconds in a file, which can change at any moment. The program has no
 * such option, so no build contains it.
 */
import { readFileSync } from 'node:fs'

/** A change takes effect within this time. */
const readAgainMs = 10

const file = process.env.TORTURE_CLOCK_FILE
if (file === undefined) throw new Error('TORTURE_CLOCK_FILE has to name the file that moves the clock.')

const RealDate = Date
let offsetMs = 0
let readAt = -Infinity

function now(): number {
  const at = performance.now()
  if (at - readAt >= readAgainMs) {
    offsetMs = Number(readFileSync(file!, 'utf8'))
    readAt = at
  }
  return RealDate.now() + offsetMs
}

class MovedDate extends RealDate {
  constructor(...parts: unknown[]) {
    if (parts.length === 0) super(now())
    else super(...(parts as [number]))
  }

  static override now(): number {
    return now()
  }
}

globalThis.Date = MovedDate as DateConstructor
