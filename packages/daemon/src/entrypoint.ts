/**
 * PID 1 of a sandbox. It starts the daemon, passes signals on, takes away the dead that nobody waits for, and ends when
 * the daemon ends: restarting it here would hide why it died from the server, which knows what to do about it.
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
  // The kernel gives PID 1 no default action: a signal without a handler here would be lost.
  for (const signal of forwarded) process.on(signal, () => daemon.kill(signal))
  if (args.includes('--lifeline')) endWithTheServer()
  const stopReaper = startReaper(daemon.pid)

  const code = await daemon.exited
  stopReaper()
  const how = daemon.signalCode === null ? `exit code ${code}` : `signal ${daemon.signalCode}`
  lastLine(`svc-agent ended with ${how}`)
  process.exit(code)
}

/** What the daemon gets to know: its own arguments, without what only PID 1 needs. */
function daemonArguments(args: string[]): string[] {
  const at = args.indexOf('--agent-processes')
  return at === -1 ? [] : args.slice(at, at + 2)
}

/**
 * Standard input is a pipe whose other end the server holds. bubblewrap already dies with its parent, but a server
 * killed in the few instructions before that is armed would leave a sandbox that nobody knows; this end of file does not miss.
 */
function endWithTheServer(): void {
  process.stdin.on('end', () => {
    lastLine('the server is gone')
    process.exit(0)
  })
  process.stdin.on('error', () => process.exit(0))
  process.stdin.resume()
}

/** Standard error is not buffered: written before the exit, it is what the driver reports. */
function lastLine(text: string): void {
  process.stderr.write(`svc-entrypoint: ${text}\n`)
}
