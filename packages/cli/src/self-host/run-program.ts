/** Runs the server's own program, which knows its settings and its data, for one JSON document. */
import { type ChildProcess, type ExecFileException, execFile } from 'node:child_process'
import { whileStdinIsOpen } from '@svc/contract/daemon/operator-reports'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { Refusal } from '../errors.ts'
import { reasonIn, serverCommand } from './launch.ts'

const run = promisify(execFile)

/** The progress of hours is below this. */
const outputBytesMax = 256 * 1024 ** 2

export type ProgramFlag =
  | '--backup'
  | '--check'
  | '--doctor'
  | '--end-sandboxes'
  | '--examine-settings'
  | '--examine-upgrade'
  | '--list-backups'
  | '--move-database'
  | '--remove-backups'
  | '--restore'
  | '--resume'
  | '--rotate-key'
  | '--sandbox-image'

export interface Asked {
  /** 0: no limit. */
  ms: number
  /** The message when it prints neither its document nor an error. */
  otherwise: string
  env: Record<string, string>
  more?: string[]
  /** For its stdin, which other users of the machine cannot read. */
  input?: string
  /** The program ends with this one, also when that is killed. For `whileStdinIsOpen`. */
  isTied?: boolean
  /** Called for each line on stderr as it comes. */
  onLine?: (line: string) => void
}

export async function runServerProgram<T>(
  flag: ProgramFlag,
  { ms, otherwise, env, more = [], input, isTied = false, onLine }: Asked,
): Promise<T> {
  const [program, ...args] = serverCommand()
  let passOn: Disposable | null = null
  try {
    const tie = isTied ? [whileStdinIsOpen] : []
    const running = run(program, [...args, flag, ...more, ...tie], { env, timeout: ms, maxBuffer: outputBytesMax })
    passOn = passSignals(running.child)
    // Its end says why it reads no more.
    running.child.stdin?.on('error', reportedByItsEnd)
    if (isTied) running.child.stdin?.write(`${input}\n`)
    else running.child.stdin?.end(input)
    if (onLine !== undefined && running.child.stderr !== null) followLines(running.child.stderr, onLine)
    return JSON.parse((await running).stdout) as T
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr ?? '').trim()
    // Lines that were followed are progress.
    const why =
      onLine === undefined && said !== '' ? said : `${otherwise}${describeEnd(error as ExecFileException, ms)}`
    throw new Refusal('not_available', reasonIn(said) ?? why, { cause: error })
  } finally {
    passOn?.[Symbol.dispose]()
  }
}

/** Says why a program ended that printed nothing: a signal ended it, as of the kernel when memory ran out, or the time limit. */
function describeEnd({ killed, signal }: ExecFileException, ms: number): string {
  if (killed === true && ms > 0) return ` It took longer than ${ms / 1000} s.`
  return typeof signal === 'string' ? ` Its process was ended by ${signal}.` : ''
}

function reportedByItsEnd(): void {}

/** The program ends with this command, and with it the database that it may have started. */
function passSignals(child: ChildProcess): Disposable {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const pass = (signal: NodeJS.Signals) => void child.kill(signal)
  for (const signal of signals) process.on(signal, pass)
  return {
    [Symbol.dispose]: () => {
      for (const signal of signals) process.off(signal, pass)
    },
  }
}

function followLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = ''
  stream.on('data', (chunk: string | Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}
