/** Code that the diff moves: marked lines, and a link from each place to the other. */
import { visibleName } from '../../../ui/sanitizing-jsx/visible.ts'
import type { ChangedFile } from '../files/changed-files.ts'
import type { ReadingGuide } from '../queries.ts'
import type { PlacedThread } from './viewer.tsx'

type Side = 'old' | 'new'

interface End {
  side: Side
  path: string
  line: number
}

interface MovedNote {
  here: End
  there: End
  lines: number
  reindented: boolean
}

export interface Moves {
  placed: PlacedThread[]
  notes: ReadonlyMap<string, MovedNote>
  /** The moved lines of each file, by its new path. */
  lines: ReadonlyMap<string, Record<Side, ReadonlySet<number>>>
}

/** Those whose lines are in the files as they are shown. */
export function movesIn(files: readonly ChangedFile[], moves: ReadingGuide['moves']): Moves {
  const placed: PlacedThread[] = []
  const notes = new Map<string, MovedNote>()
  const lines = new Map<string, Record<Side, Set<number>>>()
  if (moves.length === 0) return { placed, notes, lines }
  const known = {
    old: new Map(files.map((file) => [file.oldPath ?? file.path, file])),
    new: new Map(files.map((file) => [file.path, file])),
  }
  for (const move of moves) {
    const ends: End[] = [
      { side: 'old', ...move.from },
      { side: 'new', ...move.to },
    ]
    for (const [at, here] of ends.entries()) {
      const file = known[here.side].get(here.path)
      if (file === undefined) continue
      const own = lines.get(file.path) ?? { old: new Set<number>(), new: new Set<number>() }
      lines.set(file.path, own)
      for (let n = 0; n < move.lines; n++) own[here.side].add(here.line + n)
      const line = lineAbove(file, here)
      if (line === null) continue
      const id = `moved ${here.side} ${here.path} ${here.line}`
      notes.set(id, { here, there: ends[1 - at]!, lines: move.lines, reindented: move.reindented })
      placed.push({ id, path: here.path, side: here.side, line, version: 'moved' })
    }
  }
  return { placed, notes, lines }
}

/** The line above the block, so that the note comes before it; the first one where none is shown above. */
function lineAbove({ view }: ChangedFile, { side, line }: End): number | null {
  const shown = view?.hunks.find(({ additionStart, additionCount, deletionStart, deletionCount }) => {
    const [start, count] = side === 'new' ? [additionStart, additionCount] : [deletionStart, deletionCount]
    return line >= start && line < start + count
  })
  if (shown === undefined) return null
  const start = side === 'new' ? shown.additionStart : shown.deletionStart
  return line > start ? line - 1 : line
}

export function MovedLabel({ of, onShow }: { of: MovedNote; onShow: (end: End, lines: number) => void }) {
  const { here, there, lines, reindented } = of
  const last = there.line + lines - 1
  return (
    <p className="m-1 px-2 py-0.5 font-sans text-xs whitespace-normal text-dim">
      {lines} lines moved {here.side === 'new' ? 'from' : 'to'}{' '}
      <button
        type="button"
        onClick={() => onShow(there, lines)}
        className="rounded font-mono break-all text-accent underline"
      >
        {visibleName(there.path)}:{there.line}-{last}
      </button>
      {reindented && ', with another indentation'}
    </p>
  )
}

/** For the viewer's shadow root. The colors of added and removed lines stay. */
export const movedStyles = `
  [data-line][data-moved] { box-shadow: inset 3px 0 0 var(--color-accent); }
`

/** Call it whenever the viewer rendered a file. */
export function markMoved(host: HTMLElement, of: Record<Side, ReadonlySet<number>> | undefined): void {
  const sides = { 'change-addition': of?.new, 'change-deletion': of?.old } as Record<
    string,
    ReadonlySet<number> | undefined
  >
  for (const row of host.shadowRoot?.querySelectorAll<HTMLElement>('[data-line]') ?? [])
    row.toggleAttribute('data-moved', sides[row.dataset.lineType ?? '']?.has(Number(row.dataset.line)) === true)
}
