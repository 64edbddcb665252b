/** A real terminal around a real process: the visible cells. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Terminal } from '@xterm/headless'

const entry = join(import.meta.dir, '../../../svc/src/main.ts')
/** A program needs this long to start on a loaded machine. */
const patienceMs = 45_000

export const keys = {
  up: '\x1b[A',
  down: '\x1b[B',
  enter: '\r',
  ctrlC: '\x03',
  ctrlD: '\x04',
  escape: '\x1b',
  tab: '\t',
} as const

export interface ScreenOptions {
  env?: Record<string, string>
  cwd?: string
  columns?: number
  rows?: number
}

export class Screen {
  readonly #terminal: Terminal
  readonly #process: Bun.Subprocess
  readonly home: string
  readonly #closed = Promise.withResolvers<void>()
  raw = ''

  private constructor(command: string[], home: string, options: ScreenOptions) {
    const { columns = 100, rows = 30 } = options
    const terminal = new Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 10_000 })
    this.#terminal = terminal
    this.home = home
    const decoder = new TextDecoder()
    this.#process = Bun.spawn(command, {
      cwd: options.cwd ?? home,
      env: {
        PATH: `${home}/bin:${process.env.PATH}`,
        HOME: home,
        TERM: 'xterm-256color',
        LANG: 'C.UTF-8',
        GIT_CONFIG_GLOBAL: '/dev/null',
        ...options.env,
      },
      terminal: {
        cols: columns,
        rows,
        data: (_, bytes) => {
          this.raw += decoder.decode(bytes, { stream: true })
          terminal.write(bytes)
        },
        exit: () => this.#closed.resolve(),
      },
    })
  }

  static async svc(args: readonly string[], options: ScreenOptions = {}): Promise<Screen> {
    const home = await homeWithClient()
    return new Screen([process.execPath, entry, ...args], home, options)
  }

  /** Another program with `svc` on its PATH. */
  static async run(command: string[], options: ScreenOptions = {}): Promise<Screen> {
    return new Screen(command, await homeWithClient(), options)
  }

  type(text: string): void {
    this.#process.terminal!.write(text)
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows)
    this.#process.terminal!.resize(columns, rows)
  }

  async text(): Promise<string> {
    // The emulator parses asynchronously: wait until it has rendered everything written so far.
    await new Promise<void>((resolve) => this.#terminal.write('', resolve))
    const buffer = this.#terminal.buffer.active
    const lines = Array.from({ length: this.#terminal.rows }, (_, row) => this.#line(buffer.baseY + row))
    return lines.join('\n').trimEnd()
  }

  async all(): Promise<string> {
    await new Promise<void>((resolve) => this.#terminal.write('', resolve))
    const { length } = this.#terminal.buffer.active
    return Array.from({ length }, (_, row) => this.#line(row))
      .join('\n')
      .trimEnd()
  }

  /** The colour number of the first cell of `text`, or null without one. */
  async colourOf(text: string): Promise<number | null> {
    await this.text()
    const buffer = this.#terminal.buffer.active
    for (let row = 0; row < buffer.length; row++) {
      const column = this.#line(row).indexOf(text)
      if (column === -1) continue
      const cell = buffer.getLine(row)!.getCell(column)!
      return cell.isFgDefault() ? null : cell.getFgColor()
    }
    throw new Error(`${text} is not on the screen:\n${await this.all()}`)
  }

  async waitFor(what: string | RegExp): Promise<string> {
    const deadline = Date.now() + patienceMs
    for (;;) {
      const text = await this.text()
      if (typeof what === 'string' ? text.includes(what) : what.test(text)) return text
      if (Date.now() > deadline) throw new Error(`Waited in vain for ${what} on:\n${await this.all()}`)
      await Bun.sleep(10)
    }
  }

  /** Presses a key repeatedly until the expected text is there. */
  async typeUntil(key: string, what: string): Promise<void> {
    const deadline = Date.now() + patienceMs
    while (!(await this.text()).includes(what)) {
      if (Date.now() > deadline) throw new Error(`${key} does not bring ${what}:\n${await this.all()}`)
      this.type(key)
      await Bun.sleep(100)
    }
  }

  async exited(): Promise<number> {
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), patienceMs)
    const code = await this.#process.exited
    clearTimeout(timer)
    // The last bytes may arrive after the process ends; a surviving child that holds the terminal would keep it open.
    await Promise.race([this.#closed.promise, Bun.sleep(2_000)])
    return code
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#process.exited
    this.#process.terminal?.close()
    this.#terminal.dispose()
    await rm(this.home, { recursive: true, force: true })
  }

  #line(row: number): string {
    return this.#terminal.buffer.active.getLine(row)?.translateToString(true).trimEnd() ?? ''
  }
}

async function homeWithClient(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'svc-screen-'))
  const script = `#!/bin/sh\nexec '${process.execPath}' '${entry}' "$@"\n`
  await Bun.write(join(home, 'bin/svc'), script)
  await writeFile(join(home, 'bin/svc'), script, { mode: 0o755 })
  await Bun.spawn(['chmod', '755', join(home, 'bin/svc')]).exited
  return home
}
