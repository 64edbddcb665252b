/** Runs commands of the server's own program, which knows its settings and its data. */
import { execFile } from 'node:child_process'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { reasonIn, serverCommand, serverEnvironment } from './launch.ts'

const run = promisify(execFile)

/** The progress of hours is below this. */
const outputBytesMax = 256 * 1024 ** 2

interface Asked {
  /** 0: no limit. */
  ms: number
  otherwise: string
  env?: Record<string, string>
  more?: string[]
  /** For its stdin, which other users of the machine cannot read. */
  input?: string
  /** Called for each line on stderr as it comes. */
  onLine?: (line: string) => void
}

/** The JSON document it prints, or its error; `otherwise` is the message when it prints neither. */
export async function askServerProgram<T>(
  ctx: Context,
  flag:
    | '--backup'
    | '--check'
    | '--doctor'
    | '--end-sandboxes'
    | '--examine-upgrade'
    | '--list-backups'
    | '--move-database'
    | '--restore'
    | '--resume'
    | '--rotate-key'
    | '--sandbox-image',
  { ms, otherwise, env, more = [], input, onLine }: Asked,
): Promise<T> {
  const [program, ...args] = serverCommand()
  try {
    const given = { env: env ?? (await serverEnvironment(ctx)), timeout: ms, maxBuffer: outputBytesMax }
    const running = run(program, [...args, flag, ...more], given)
    running.child.stdin?.end(input)
    if (onLine !== undefined && running.child.stderr !== null) followLines(running.child.stderr, onLine)
    return JSON.parse((await running).stdout) as T
  } catch (error) {
    if (error instanceof Refusal) throw error
    const said = String((error as { stderr?: string }).stderr ?? '').trim()
    // Lines that were followed are progress.
    const why = onLine === undefined ? said || otherwise : otherwise
    throw new Refusal('not_available', reasonIn(said) ?? why, { cause: error })
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
