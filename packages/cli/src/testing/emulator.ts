/** A terminal emulator that records what a program does besides showing text. */
import { Terminal } from '@xterm/headless'

/** Characters that hide or reorder the text around them. */
const hides =
  /[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u

/** Bold and dim, and the five colours of output.ts and colour-patch.ts. */
const ourColours = new Set([1, 2, 3, 4, 6])

export interface Emulator {
  /** Lists the effects of these bytes on a terminal that the client never intends; empty for text in our colors. */
  misdeeds(bytes: string): Promise<string[]>
}

/** One emulator for many checks, because creating it is slow. */
export function makeEmulator(columns: number): Emulator {
  let found: string[] = []
  const tell = (what: string) => {
    found.push(what)
    return true
  }
  const terminal = new Terminal({ cols: columns, rows: 50, scrollback: 5000, allowProposedApi: true, convertEol: true })
  terminal.onTitleChange((text) => tell(`title: ${text}`))
  terminal.onBell(() => tell('bell'))
  terminal.onData((text) => tell(`answered ${JSON.stringify(text)}`))
  for (let code = 0; code < 2000; code++) terminal.parser.registerOscHandler(code, () => tell(`OSC ${code}`))
  for (let code = 0x40; code <= 0x7e; code++) {
    const final = String.fromCharCode(code)
    terminal.parser.registerDcsHandler({ final }, () => tell(`DCS ${final}`))
    if (final !== '[') terminal.parser.registerEscHandler({ final }, () => tell(`ESC ${final}`))
    for (const prefix of ['?', '>', '=', '<'])
      terminal.parser.registerCsiHandler({ prefix, final }, () => tell(`CSI ${prefix}${final}`))
    // Colours, and clearing a temporary line.
    if (final !== 'm' && final !== 'K') terminal.parser.registerCsiHandler({ final }, () => tell(`CSI ${final}`))
  }
  return {
    async misdeeds(bytes) {
      found = []
      terminal.reset()
      await new Promise<void>((resolve) => terminal.write(bytes, resolve))
      if (terminal.buffer.active.type !== 'normal') tell('the other screen')
      for (const what of strangeCells(terminal)) tell(what)
      return found.slice(0, 10)
    },
  }
}

function strangeCells(terminal: Terminal): string[] {
  const found: string[] = []
  const buffer = terminal.buffer.active
  for (let row = 0; row < buffer.length; row++) {
    const line = buffer.getLine(row)!
    const text = line.translateToString(true)
    const hidden = hides.exec(text)
    if (hidden !== null) found.push(`U+${hidden[0].codePointAt(0)!.toString(16)} is shown as nothing`)
    for (let column = 0; column < text.length && column < terminal.cols; column++) {
      const cell = line.getCell(column)!
      const strange = cell.isInverse() || cell.isInvisible() || cell.isBlink() || cell.isUnderline() || cell.isItalic()
      const coloured = !cell.isFgDefault() && !(cell.isFgPalette() && ourColours.has(cell.getFgColor()))
      if (strange || coloured || !cell.isBgDefault()) found.push(`a style of its own at ${row}:${column}`)
    }
  }
  return found
}
