/** Runs PostgreSQL as a child that cannot outlive its server. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { postgresEnvironment, type PostgresPrograms } from './programs.ts'

/**
 * The shell between us and PostgreSQL. After `kill -9` the server cannot stop PostgreSQL, but the kernel closes its
 * end of the pipe: the shell reads the end of the file and requests a fast shutdown. With a process id instead of
 * `pipe` it watches that process, for a PostgreSQL that several processes share. It ignores SIGTERM, which test
 * runners send to every process, because without it nothing would watch PostgreSQL. It removes leftovers when
 * PostgreSQL has ended. PostgreSQL writes `pg_control` by the path of its folder, at the checkpoint of its shutdown: into
 * another database, where a disk was mounted over the folder. An immediate shutdown makes no checkpoint.
 */
const supervisor = `
watched=$1 socket=$2 folder=$3 data=$4
shift 4
trap '' TERM
exec 3<&0 </dev/null 4<"$data"
at_its_path() { [ "$data" -ef /dev/fd/4 ]; }
can_compare=
at_its_path && can_compare=1
finish() { if [ "$can_compare" ] && ! at_its_path; then kill -QUIT $postgres; else kill -INT $postgres; fi; }
"$@" 3<&- 4<&- &
postgres=$!
if [ "$watched" = pipe ]; then
  (read -r end <&3; finish) 2>/dev/null &
else
  (while kill -0 "$watched"; do sleep 0.1; done; finish) 2>/dev/null &
fi
watcher=$!
wait $postgres
code=$?
kill -KILL $watcher 2>/dev/null
rm -rf "$socket" "$folder" 2>/dev/null
exit $code
`

const tailBytesMax = 16_384

export interface PostgresChild {
  /** Resolves when PostgreSQL has ended, for any reason. */
  exited: Promise<void>
  hasExited(): boolean
  /** The end of its output. */
  output(): string
  /** Requests a fast shutdown: sessions are cut, committed data is safe. */
  end(): void
  /** Kills it; the write-ahead log repairs the rest at the next start. */
  kill(): void
}

export function launchPostgres(options: {
  dataDir: string
  socketDir: string
  programs: PostgresPrograms
  settings: Record<string, string>
  /** The process with which PostgreSQL ends; by default this one. */
  livesWith: number | null
  /** A folder to remove after PostgreSQL has ended; the socket's folder always is. */
  removeAfter: string | null
  /** This file gets its output. Null: `onLine` does. Every connection would hang once a pipe is full that no process reads. */
  logFile: string | null
  onLine: (line: string) => void
}): PostgresChild {
  const { logFile } = options
  const settings = Object.entries({ ...options.settings, unix_socket_directories: options.socketDir })
  const output = logFile === null ? ('pipe' as const) : openSync(logFile, 'a', 0o600)
  const child = spawn(
    '/bin/sh',
    [
      '-c',
      supervisor,
      'svc-postgres',
      options.livesWith === null ? 'pipe' : String(options.livesWith),
      options.socketDir,
      options.removeAfter ?? '',
      options.dataDir,
      ...options.programs.prefix,
      join(options.programs.binDir, 'postgres'),
      '-D',
      options.dataDir,
      ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    // A process group of its own: Ctrl-C in a terminal reaches only the server, which drains before it stops its database.
    { stdio: ['pipe', 'ignore', output], detached: true, cwd: '/', env: postgresEnvironment() },
  )
  if (output !== 'pipe') closeSync(output)
  const stdin = child.stdin!
  let tail = ''
  let rest = ''
  let ended = false
  child.stderr?.setEncoding('utf8')
  child.stderr?.on('data', (text: string) => {
    tail = (tail + text).slice(-tailBytesMax)
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(-tailBytesMax)
    for (const line of lines) if (line !== '') options.onLine(line)
  })
  stdin.on('error', (error: NodeJS.ErrnoException) => {
    // The reader is gone, which is what closing the pipe is for.
    if (error.code !== 'EPIPE') options.onLine(`the pipe to PostgreSQL failed: ${error.message}`)
  })
  const exited = new Promise<void>((resolve) => {
    const settle = () => {
      ended = true
      resolve()
    }
    child.once('exit', settle)
    child.once('error', (error) => {
      tail += error.message
      settle()
    })
  })
  if (options.livesWith !== null) {
    child.unref()
    for (const stream of [child.stderr, stdin]) (stream as { unref?: () => void } | null)?.unref?.()
  }
  return {
    exited,
    hasExited: () => ended,
    output: () => (logFile === null ? tail : `${readFileSync(logFile, 'utf8')}${tail}`.slice(-tailBytesMax)),
    end: () => stdin.end(),
    kill: () => {
      if (!ended && child.pid !== undefined) process.kill(-child.pid, 'SIGQUIT')
    },
  }
}
