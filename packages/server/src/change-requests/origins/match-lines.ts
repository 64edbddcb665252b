/** Which call wrote each changed line. Claims nothing where more than one answer is possible. Pure. */
import { isTelling } from '@svc/contract/schemas/file-writes'
import type { WrittenLines } from './written-lines.ts'

export interface AddedLine {
  line: number
  /** As lines are compared. */
  text: string
  /** Whether a sandbox made the commit that added it. A person wrote what a person committed. */
  byAgent: boolean
  committedAt: number
}

/** `startedAt` of each call, by its number. */
export type Starts = readonly { startedAt: number }[]

/** The call of each added line, or null. */
export function matchAdded(lines: readonly AddedLine[], written: WrittenLines, calls: Starts): (number | null)[] {
  const found: (number | null)[] = lines.map(() => null)
  const used = new Map<string, number>()
  const claim = (at: number, call: number) => {
    found[at] = call
    const key = `${call} ${lines[at]!.text}`
    used.set(key, (used.get(key) ?? 0) + 1)
  }
  const wanted = Map.groupBy(
    lines.map(({ text, byAgent }, at) => ({ at, text, byAgent })).filter(({ byAgent }) => byAgent),
    ({ text }) => text,
  )
  for (const [text, places] of wanted) {
    const [writer, ...others] = written.writersOf(text)
    if (writer === undefined || !isTelling(text) || written.isUnsure(text)) continue
    if (others.some((other) => other !== writer) || others.length + 1 < places.length) continue
    for (const { at } of places) if (isInTime(calls[writer]!, lines[at]!)) claim(at, writer)
  }
  // A line that is in many places belongs to the call of the line beside it, if that call wrote it, too.
  const fromNeighbor = (at: number, beside: number) => {
    const [line, neighbor] = [lines[at]!, lines[beside]]
    const call = found[beside]
    if (found[at] !== null || call === null || call === undefined || !line.byAgent) return
    if (written.isUnsure(line.text)) return
    if (Math.abs(line.line - neighbor!.line) !== 1 || !isInTime(calls[call]!, line)) return
    if ((written.countsOf(line.text).get(call) ?? 0) > (used.get(`${call} ${line.text}`) ?? 0)) claim(at, call)
  }
  for (let at = 1; at < lines.length; at++) fromNeighbor(at, at - 1)
  for (let at = lines.length - 2; at >= 0; at--) fromNeighbor(at, at + 1)
  return found
}

/** The time of a commit has no fractions of a second. */
export const isInTime = ({ startedAt }: { startedAt: number }, { committedAt }: Pick<AddedLine, 'committedAt'>) =>
  startedAt < committedAt + 1_000

/** The call that removed each line of one change, or null. */
export function matchRemoved(texts: readonly string[], written: WrittenLines): (number | null)[] {
  const found = texts.map((text) => (isTelling(text) ? written.removerOf(text) : null))
  const [first, ...others] = new Set(found.filter((call) => call !== null))
  // A brace or an empty line went with the lines around it.
  if (first === undefined || others.length > 0) return found
  return texts.map((text, at) => found[at] ?? (isTelling(text) ? null : first))
}
