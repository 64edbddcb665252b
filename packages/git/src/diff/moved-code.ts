/**
 * Blocks of lines that a diff removes in one place and adds in another. `git diff --color-moved` finds such lines, too,
 * but does not tell where they came from.
 */
import { CooperativeYield } from '../formats/cooperative-yield.ts'

export interface MovedBlock {
  /** The first removed and the first added line, counted from 1 in the file before and after. */
  from: { path: string; line: number }
  to: { path: string; line: number }
  lines: number
  /** The lines differ in their indentation. */
  reindented: boolean
}

/** A block of `git diff --color-moved` has as many letters and digits; shorter ones meet by chance. */
const lettersMin = 20
const linesMin = 3
/** A line like `return null` is removed in a thousand places; further ones are not compared. */
const placesMax = 16
export const movesMax = 1_000

interface Line {
  text: string
  /** The same for lines that differ in outer white space alone, since numbers are compared faster. */
  id: number
  line: number
  /** Which file, and which change within its hunks. */
  file: number
  change: number
}

/**
 * Lines are equal when they differ in outer white space alone. A block is as long as possible and within one run of
 * changed lines on each side. A change that replaces lines by the same ones, as a new indentation does, is no move.
 * `paths` are those of the files in the order of the patch: each before and after.
 */
export async function movedBlocks(
  patch: string,
  paths: readonly { before: string; after: string }[],
): Promise<{ moves: MovedBlock[]; truncated: boolean }> {
  const yields = new CooperativeYield()
  const { removed, added } = await readLines(patch, yields)
  const places = new Map<number, number[]>()
  for (const [at, { id, text }] of removed.entries()) {
    const known = places.get(id)
    if (known === undefined) places.set(id, isTelling(text) ? [at] : [])
    else if (known.length > 0 && known.length < placesMax) known.push(at)
    if (yields.isDue) await yields.next()
  }
  const moves: MovedBlock[] = []
  let next = 0
  for (let at = 0; at < added.length; at++) {
    if (yields.isDue) await yields.next()
    const found = longest(removed, added, { at, floor: next, starts: places.get(added[at]!.id) ?? [] })
    if (found === null) continue
    if (moves.length === movesMax) return { moves, truncated: true }
    const [from, to] = [removed[found.from]!, added[found.to]!]
    moves.push({
      from: { path: paths[from.file]?.before ?? '', line: from.line },
      to: { path: paths[to.file]?.after ?? '', line: to.line },
      lines: found.count,
      reindented: isReindented(removed, added, found),
    })
    next = found.to + found.count
    at = next - 1
  }
  return { moves, truncated: false }
}

interface Match {
  from: number
  to: number
  count: number
}

/** The longest block with the added line `at`, which begins at `floor` or later. */
function longest(
  removed: readonly Line[],
  added: readonly Line[],
  { at, floor, starts }: { at: number; floor: number; starts: readonly number[] },
): Match | null {
  let best: Match | null = null
  for (const start of starts) {
    if (removed[start]!.file === added[at]!.file && removed[start]!.change === added[at]!.change) continue
    let before = 0
    while (
      at - before > floor &&
      areEqual(removed, added, start - before - 1, at - before - 1, start - before, at - before)
    )
      before++
    let count = before + 1
    for (let n = 1; areEqual(removed, added, start + n, at + n, start + n - 1, at + n - 1); n++) count++
    if (count > (best?.count ?? 0)) best = { from: start - before, to: at - before, count }
  }
  return best !== null && isLarge(added.slice(best.to, best.to + best.count)) ? best : null
}

/** Whether the two lines are equal, and each is in one run with its neighbor. */
function areEqual(
  removed: readonly Line[],
  added: readonly Line[],
  from: number,
  to: number,
  besideFrom: number,
  besideTo: number,
): boolean {
  const [one, other] = [removed[from], added[to]]
  if (one === undefined || other === undefined || one.id !== other.id) return false
  return isInRun(one, removed[besideFrom]!) && isInRun(other, added[besideTo]!)
}

const isInRun = (one: Line, other: Line) => one.file === other.file && one.change === other.change

const lettersOf = (text: string) => text.match(/[\p{L}\p{N}]/gu)?.length ?? 0

/** Blocks do not start to be compared at a brace. */
const isTelling = (text: string) => text.length < 2_000 && lettersOf(text) >= 3

function isLarge(lines: readonly Line[]): boolean {
  let [filled, letters] = [0, 0]
  for (const { text } of lines) {
    if (text.trim() !== '') filled++
    letters += lettersOf(text.slice(0, 200))
    if (filled >= linesMin && letters >= lettersMin) return true
  }
  return false
}

function isReindented(removed: readonly Line[], added: readonly Line[], { from, to, count }: Match): boolean {
  return Array.from({ length: count }, (_, n) => n).some((n) => removed[from + n]!.text !== added[to + n]!.text)
}

const [plus, minus, space] = [43, 45, 32]

async function readLines(patch: string, yields: CooperativeYield): Promise<{ removed: Line[]; added: Line[] }> {
  const [removed, added]: [Line[], Line[]] = [[], []]
  const ids = new Map<string, number>()
  const idOf = (text: string) => {
    const trimmed = text.trim()
    const known = ids.get(trimmed)
    if (known !== undefined) return known
    ids.set(trimmed, ids.size)
    return ids.size - 1
  }
  let [file, change, oldLine, newLine, oldLeft, newLeft] = [-1, 0, 0, 0, 0, 0]
  for (let at = 0; at < patch.length;) {
    const found = patch.indexOf('\n', at)
    const end = found === -1 ? patch.length : found
    const sign = patch.charCodeAt(at)
    if (oldLeft > 0 || newLeft > 0) {
      const text = patch.slice(at + 1, end)
      if (sign === minus) {
        removed.push({ text, id: idOf(text), line: oldLine++, file, change })
        oldLeft--
      } else if (sign === plus) {
        added.push({ text, id: idOf(text), line: newLine++, file, change })
        newLeft--
      } else if (sign === space) {
        ;[oldLine, newLine, oldLeft, newLeft] = [oldLine + 1, newLine + 1, oldLeft - 1, newLeft - 1]
        change++
      }
    } else if (patch.startsWith('diff --git ', at)) file++
    else if (patch.startsWith('@@ ', at)) {
      const [, start = '0', count = '1', from = '0', many = '1'] =
        /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(patch.slice(at, at + 100)) ?? []
      ;[oldLine, oldLeft, newLine, newLeft] = [Number(start), Number(count), Number(from), Number(many)]
      change++
    }
    at = end + 1
    if (yields.isDue) await yields.next()
  }
  return { removed, added }
}
