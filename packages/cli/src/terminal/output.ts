/** The client's output: stdout is data, stderr is everything else. */
import { reportedWhenAwaited } from '../ignore.ts'
import picocolors from 'picocolors'
import type { Filter } from './filter.ts'
import type { Io, Sink } from '../io.ts'
import { safe, safeBlock, safeJson } from './safe.ts'
import { ago } from './time.ts'

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'
export interface Styled {
  style: Style
  text: string
}
/** Sanitizes text where it is written, so that no command can forget it, and adds colour afterwards. */
export type Piece = string | Styled

export const bold = (text: string): Styled => ({ style: 'bold', text })
export const dim = (text: string): Styled => ({ style: 'dim', text })
export const red = (text: string): Styled => ({ style: 'red', text })
export const green = (text: string): Styled => ({ style: 'green', text })
export const yellow = (text: string): Styled => ({ style: 'yellow', text })
export const cyan = (text: string): Styled => ({ style: 'cyan', text })

export interface Column<Row> {
  title: string
  of: (row: Row) => Piece
  /** Shrinks on a narrow terminal. */
  shrink?: true
}

export type Output = ReturnType<typeof createOutput>
type Streams = Pick<Io, 'stdout' | 'stderr' | 'env' | 'now'>
interface OutputOptions {
  json: boolean
  noColor: boolean
  filter?: Filter | null
}

export function createOutput(io: Streams, options: OutputOptions) {
  const terminal = io.stdout.isTTY && !options.json
  const data = painter(wantsColour(io.stdout, io.env, options))
  const { toStdout, toStderr, ...writers } = createWriters(io, options)

  // The filter loads asynchronously and commands print synchronously, so documents are queued.
  let filtering = Promise.resolve()
  const filtered = (value: unknown): boolean => {
    const { filter } = options
    if (filter == null) return false
    filtering = filtering.then(async () => toStdout(await filter(value)))
    filtering.catch(reportedWhenAwaited)
    return true
  }

  const line = (...pieces: Piece[]) => toStdout(`${data.line(pieces)}\n`)
  const note = (...pieces: Piece[]) =>
    toStderr(...pieces.map((piece) => (typeof piece === 'string' ? dim(piece) : piece)))
  const document = (value: unknown) => (filtered(value) ? undefined : toStdout(`${safeJson(value, 2)}\n`))

  /** Aligned under headers on a terminal; tab-separated without headers in a pipe. */
  function tableText<Row>(
    rows: readonly Row[],
    columns: readonly Column<Row>[],
    { titles } = { titles: true },
  ): string {
    const cells = rows.map((row) => columns.map((column) => column.of(row)))
    if (!terminal) return cells.map((row) => `${row.map((cell) => data.line([cell])).join('\t')}\n`).join('')
    const all = titles ? [columns.map((column) => dim(column.title)), ...cells] : cells
    const widths = fit(all, columns, room(io.stdout))
    return all.map((row) => `${data.row(row, widths)}\n`).join('')
  }

  return {
    json: options.json,
    width: room(io.stdout),
    columns: room(io.stderr),
    terminal,
    colour: data.colour,

    line,
    block: (text: string) => toStdout(`${safeBlock(text).replace(/\n+$/, '')}\n`),
    /** Text as it grows, without line breaks. */
    grow: (text: string) => toStdout(safeBlock(text)),
    /** The bytes of a file, for a pipe. */
    raw: toStdout,
    document,
    documentLine: (value: unknown) => (filtered(value) ? undefined : toStdout(`${safeJson(value)}\n`)),
    /** The end of a command: its document for a program, one line with a check mark for a person. */
    done: (value: unknown, ...pieces: Piece[]) => (options.json ? document(value) : line(green('✓ '), ...pieces)),
    /** The end of a list: its document for a program, a table for a person, or the note about an empty one. */
    list<Row>(value: unknown, rows: readonly Row[], empty: string, columns: readonly Column<Row>[]) {
      if (options.json) document(value)
      else if (rows.length === 0) note(empty)
      else toStdout(tableText(rows, columns))
    },
    /** A table below other output; nothing without rows. */
    section<Row>(rows: readonly Row[], columns: readonly Column<Row>[]) {
      if (rows.length > 0) toStdout(`\n${tableText(rows, columns)}`)
    },
    /** Resolves when every filtered document is written; throws the filter's error. */
    written: () => filtering,

    table: <Row>(rows: readonly Row[], columns: readonly Column<Row>[], options?: { titles: boolean }) =>
      toStdout(tableText(rows, columns, options)),
    /** The same as text, sanitized and coloured, for the pager. */
    tableText,

    /** Aligned names and values. Leaves out rows without a value. */
    fields(rows: readonly (readonly [string, Piece | Piece[] | null])[]) {
      const shown = rows.filter((row): row is readonly [string, Piece | Piece[]] => row[1] !== null)
      const width = Math.max(...shown.map(([name]) => name.length))
      for (const [name, value] of shown)
        toStdout(`${data.line([dim(`${name}:`.padEnd(width + 2)), ...[value].flat()])}\n`)
    },

    /** Relative for a person, exact for a program. */
    time: (iso: string) => (terminal ? ago(iso, io.now()) : iso),

    note,
    progress: toStderr,
    /** Warnings are also printed for programs. */
    warn(text: string) {
      if (options.json) io.stderr.write(`${safeJson({ warning: text })}\n`)
      else toStderr(yellow('! '), text)
    },
    ...writers,
  }
}

/**
 * Writes to both streams. Clears a temporary line before anything else is written, and on a terminal never writes a
 * message into an unfinished line of the data.
 */
function createWriters(io: Streams, options: OutputOptions) {
  const notes = painter(wantsColour(io.stderr, io.env, options))
  const sharesScreen = io.stdout.isTTY && io.stderr.isTTY
  let shown: string | null = null
  let isMidLine = false
  /** Returns whether there was a line to clear. With a text, clears only the line with that text. */
  const clearPassing = (text?: string): boolean => {
    if (shown === null || (text !== undefined && text !== shown)) return false
    io.stderr.write('\r\x1b[2K')
    shown = null
    return true
  }
  const toStdout = (text: string) => {
    clearPassing()
    io.stdout.write(text)
    if (text !== '') isMidLine = !text.endsWith('\n')
  }
  const breakLine = () => {
    io.stderr.write('\n')
    // In a pipe the data keeps its own line breaks.
    if (sharesScreen) isMidLine = false
  }
  return {
    clearPassing,
    toStdout,
    toStderr(...pieces: Piece[]) {
      if (options.json) return
      clearPassing()
      if (sharesScreen && isMidLine) breakLine()
      io.stderr.write(`${notes.line(pieces)}\n`)
    },
    /** Moves stderr to a new line. */
    breakLine,
    /** Ends an unfinished line of the data. */
    endLine() {
      if (isMidLine) toStdout('\n')
    },
    /** A temporary line on stderr, on a terminal only. It would erase an unfinished line of the data. */
    passing(text: string) {
      if (!io.stderr.isTTY || options.json || (sharesScreen && isMidLine)) return
      io.stderr.write(`\r\x1b[2K${notes.line([dim(text)])}`)
      shown = text
    },
    isPassing: () => shown !== null,
  }
}

function wantsColour(sink: Sink, env: Io['env'], { noColor, json }: OutputOptions): boolean {
  if (noColor || json || env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0'
  return sink.isTTY && env.TERM !== 'dumb'
}

/** A terminal of unknown width (a serial line, some CI) reports 0. */
function room({ columns }: Sink): number {
  return columns > 0 ? columns : 80
}

function painter(colour: boolean) {
  const colours = picocolors.createColors(colour)
  const paint = (piece: Piece, text: string) => (typeof piece === 'string' ? text : colours[piece.style](text))
  return {
    colour,
    line: (pieces: readonly Piece[]) => pieces.map((piece) => paint(piece, plain(piece))).join(''),
    row: (cells: readonly Piece[], widths: readonly number[]) =>
      cells
        .map((cell, i) => {
          const text = cut(plain(cell), widths[i]!)
          const padding = i === cells.length - 1 ? '' : ' '.repeat(Math.max(0, widths[i]! - Bun.stringWidth(text)))
          return paint(cell, text) + padding
        })
        .join('  ')
        .trimEnd(),
  }
}

function plain(piece: Piece): string {
  return safe(typeof piece === 'string' ? piece : piece.text)
}

const narrowest = 12

/** Column widths that fit the terminal, as far as the shrinkable columns allow. */
function fit(rows: readonly Piece[][], columns: readonly Column<never>[], available: number): number[] {
  const widths = columns.map((_, i) => Math.max(...rows.map((row) => Bun.stringWidth(plain(row[i]!)))))
  let over = widths.reduce((sum, width) => sum + width + 2, -2) - available
  while (over > 0) {
    const widest = columns
      .map((column, i) => (column.shrink ? i : -1))
      .filter((i) => i >= 0 && widths[i]! > narrowest)
      .sort((a, b) => widths[b]! - widths[a]!)[0]
    if (widest === undefined) break
    widths[widest]!--
    over--
  }
  return widths
}

export function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text
  let kept = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (Bun.stringWidth(kept + segment) > width - 1) break
    kept += segment
  }
  return `${kept}…`
}
