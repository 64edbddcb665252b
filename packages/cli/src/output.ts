/** Where everything the client says goes: stdout is data, stderr is everything else. */
import picocolors from 'picocolors'
import type { Filter } from './filter.ts'
import type { Io, Sink } from './io.ts'
import { safe, safeBlock, safeJson } from './safe.ts'
import { ago } from './time.ts'

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'
export interface Styled {
  style: Style
  text: string
}
/** Text is made safe where it is written, so that no command can forget it; colour is added around it there. */
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
  /** Gives way when the terminal is narrow. */
  shrink?: true
}

export type Output = ReturnType<typeof createOutput>

export function createOutput(
  io: Pick<Io, 'stdout' | 'stderr' | 'env' | 'now'>,
  options: { json: boolean; noColor: boolean; filter?: Filter | null },
) {
  const terminal = io.stdout.isTTY && !options.json
  const data = painter(wantsColour(io.stdout))
  const notes = painter(wantsColour(io.stderr))

  function wantsColour(sink: Sink): boolean {
    if (options.noColor || options.json) return false
    if (io.env.NO_COLOR) return false
    if (io.env.FORCE_COLOR) return io.env.FORCE_COLOR !== '0'
    return sink.isTTY && io.env.TERM !== 'dumb'
  }

  let passingShown = false
  /** Whether there was something to clear. */
  const clearPassing = (): boolean => {
    const shown = passingShown
    if (shown) io.stderr.write('\r\x1b[2K')
    passingShown = false
    return shown
  }
  const toStdout = (text: string) => {
    clearPassing()
    io.stdout.write(text)
  }
  const toStderr = (...pieces: Piece[]) => {
    if (options.json) return
    clearPassing()
    io.stderr.write(`${notes.line(pieces)}\n`)
  }

  // A filter takes a moment to load, and commands print without waiting: documents keep their order behind it.
  let filtering = Promise.resolve()
  const filtered = (value: unknown): boolean => {
    const { filter } = options
    if (filter == null) return false
    filtering = filtering.then(async () => toStdout(await filter(value)))
    filtering.catch(() => {})
    return true
  }

  /** Aligned under a title on a terminal; separated by tabs and without titles in a pipe. */
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
    /** Room on a line of stdout. */
    width: room(io.stdout),
    /** Room on a line of stderr. */
    columns: room(io.stderr),
    /** Whether stdout is read by a person now. */
    terminal,
    colour: data.colour,

    /** One line of data. */
    line: (...pieces: Piece[]) => toStdout(`${data.line(pieces)}\n`),
    /** Text of several lines, as data. */
    block: (text: string) => toStdout(`${safeBlock(text).replace(/\n+$/, '')}\n`),
    /** Text that grows; no line break is added. */
    grow: (text: string) => toStdout(safeBlock(text)),
    /** Bytes of a file, for a reader that is not a terminal. */
    raw: (text: string) => toStdout(text),
    document: (value: unknown) => (filtered(value) ? undefined : toStdout(`${safeJson(value, 2)}\n`)),
    /** One document of a stream. */
    documentLine: (value: unknown) => (filtered(value) ? undefined : toStdout(`${safeJson(value)}\n`)),
    /** Ends once every filtered document is written; throws what the filter found wrong. */
    written: () => filtering,

    table: <Row>(rows: readonly Row[], columns: readonly Column<Row>[], options?: { titles: boolean }) =>
      toStdout(tableText(rows, columns, options)),
    /** The same as text, safe and coloured, for the pager. */
    tableText,

    /** Names and values below each other. Rows without a value are left out. */
    fields(rows: readonly (readonly [string, Piece | Piece[] | null])[]) {
      const shown = rows.filter((row): row is readonly [string, Piece | Piece[]] => row[1] !== null)
      const width = Math.max(...shown.map(([name]) => name.length))
      for (const [name, value] of shown) {
        const pieces = Array.isArray(value) ? value : [value]
        toStdout(`${data.line([dim(`${name}:`.padEnd(width + 2)), ...pieces])}\n`)
      }
    },

    /** Relative for a person, exact for a program. */
    time: (iso: string) => (terminal ? ago(iso, io.now()) : iso),

    note: (...pieces: Piece[]) => toStderr(...pieces.map((piece) => (typeof piece === 'string' ? dim(piece) : piece))),
    progress: toStderr,
    /** A warning is worth a line to a program too. */
    warn(text: string) {
      if (options.json) io.stderr.write(`${safeJson({ warning: text })}\n`)
      else toStderr(yellow('! '), text)
    },
    /** A line on stderr until something else is said; only a terminal shows it. */
    passing(text: string) {
      if (!io.stderr.isTTY || options.json) return
      io.stderr.write(`\r\x1b[2K${notes.line([dim(text)])}`)
      passingShown = true
    },
    clearPassing,
  }
}

/** A terminal that does not know its width (a serial line, some CI) reports 0. */
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

/** The width of each column, so that a row fits the terminal if the columns that may shrink can make it so. */
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
