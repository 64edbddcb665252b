/**
 * PID 1 of a sandbox. Starts the daemon, forwards signals, reaps orphaned processes, and exits with the daemon. It
 * does not restart the daemon: the server needs to see why it died.
 */
import { dropLoaderNames } from './config.ts'
import { startReaper } from './reaper.ts'

const forwarded = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const

export async function runEntrypoint(args: string[] = process.argv.slice(2)): Promise<void> {
  const daemon = Bun.spawn([process.execPath, ...daemonArguments(args)], {
    argv0: 'svc-agent',
    env: dropLoaderNames(process.env),
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
  })
  // The kernel gives PID 1 no default signal action, so an unhandled signal would be lost.
  for (const signal of forwarded) process.on(signal, () => daemon.kill(signal))
  if (args.includes('--lifeline')) endWithTheServer()
  const stopReaper = startReaper(daemon.pid)

  const code = await daemon.exited
  stopReaper()
  const how = daemon.signalCode === null ? `exit code ${code}` : `signal ${daemon.signalCode}`
  lastLine(`svc-agent ended with ${how}`)
  process.exit(code)
}

/** The daemon's own arguments, without those for PID 1. */
function daemonArguments(args: string[]): string[] {
  const at = args.indexOf('--agent-processes')
  return at === -1 ? [] : args.slice(at, at + 2)
}

/**
 * The server holds the other end of standard input. bubblewrap dies with its parent, but a server killed before
 * bubblewrap arms that would leave an orphaned sandbox. End of file on this pipe always arrives.
 */
function endWithTheServer(): void {
  process.stdin.on('end', () => {
    lastLine('the server closed its connection')
    process.exit(0)
  })
  process.stdin.on('error', () => process.exit(0))
  process.stdin.resume()
}

/** Standard error is unbuffered, so the driver can report this line even though the process exits next. */
function lastLine(text: string): void {
  process.stderr.write(`svc-entrypoint: ${text}\n`)
}
