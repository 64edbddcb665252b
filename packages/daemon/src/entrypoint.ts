/**
 * PID 1 of a sandbox. Starts the daemon, forwards signals, reaps orphaned processes, and exits with the daemon. It
 * does not restart the daemon: the server needs to see why it died.
 */
import { dropLoaderNames } from './config.ts'
import { forbidInspection } from './inspection.ts'
import { startReaper } from './reaper.ts'

const outputMax = 8192
const drainMs = 500
/**
 * Between two looks of Bun at the daemon's garbage, in milliseconds. By itself it looks every second after each request.
 * What a busy daemon allocates triggers a collection either way.
 */
const collectEvery = { BUN_GC_TIMER_INTERVAL: '60000' }

const forwarded = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const

export async function runEntrypoint(args: string[] = process.argv.slice(2)): Promise<void> {
  // Where agent and daemon share a uid, the agent could open our output by /proc and fill a file of the machine.
  forbidInspection()
  const identity = args.includes('--link') ? await waitForIdentity(args) : { env: process.env, args }
  const daemon = Bun.spawn([process.execPath, ...daemonArguments(identity.args)], {
    argv0: 'svc-agent',
    env: { ...dropLoaderNames(identity.env), ...collectEvery },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const output = lastOutput([daemon.stdout, daemon.stderr])
  // The kernel gives PID 1 no default signal action, so an unhandled signal would be lost.
  for (const signal of forwarded) process.on(signal, () => daemon.kill(signal))
  if (args.includes('--lifeline')) endWithTheServer()
  const stopReaper = startReaper(daemon.pid)

  const code = await daemon.exited
  stopReaper()
  process.stderr.write(await output())
  const how = daemon.signalCode === null ? `exit code ${code}` : `signal ${daemon.signalCode}`
  lastLine(`svc-agent ended with ${how}`)
  process.exit(code)
}

/** Loaded only in a sandbox on another machine. */
async function waitForIdentity(args: string[]) {
  const { untilBooted } = await import('./late-identity.ts')
  return untilBooted(args)
}

/** The daemon's own arguments, without those for PID 1. */
function daemonArguments(args: string[]): string[] {
  return ['--agent-processes', '--lease'].flatMap((name) => {
    const at = args.indexOf(name)
    return at === -1 ? [] : args.slice(at, at + 2)
  })
}

/**
 * Our own output is a file of the machine, which a sandbox must not fill. So the daemon's is kept here, and only its end
 * is written, when the daemon has ended.
 */
function lastOutput(streams: ReadableStream<Uint8Array>[]): () => Promise<string> {
  let text = ''
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) text = (text + decoder.decode(chunk, { stream: true })).slice(-outputMax)
  }
  const done = Promise.all(streams.map(read))
  // A process that the daemon left behind may hold the other end open.
  return async () => {
    await Promise.race([done, Bun.sleep(drainMs)])
    return text
  }
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
