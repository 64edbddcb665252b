/** Child processes of the daemon. */
import type { AgentIdentity } from './config.ts'

export const systemPath = '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin'

/** Wraps a command to run under the agent's uid, unprivileged and killed before the daemon when memory is short. */
export function asAgent(identity: AgentIdentity, command: string[]): string[] {
  const script = 'echo 500 > /proc/self/oom_score_adj 2>/dev/null; exec "$@"'
  const wrapped = ['/bin/sh', '-c', script, 'svc-agent-child']
  if (identity.processesMax !== null) wrapped.push('prlimit', `--nproc=${identity.processesMax}`)
  if (identity.uid !== null) {
    wrapped.push('setpriv', `--reuid=${identity.uid}`, `--regid=${identity.uid}`, '--clear-groups')
    wrapped.push('--inh-caps=-all', '--no-new-privs')
  }
  return [...wrapped, ...command]
}

/** The variables that every program of the agent starts with. */
export const agentEnvironment = (home: string): Record<string, string> => ({
  PATH: systemPath,
  HOME: home,
  SHELL: '/bin/bash',
  USER: 'agent',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
})

/**
 * Starts a command as the agent, in its own process group, so that all of it ends together. Each stream of output gets
 * a writer. `ended` is the exit code, once the output is read too.
 */
export function startWatched(options: {
  command: string[]
  cwd: string
  env: Record<string, string>
  identity: AgentIdentity
  /** A process left running may keep the pipes open, so the wait for output has a limit. */
  drainMs: number
  writer: () => { write(text: string): void; end(): void }
}) {
  const child = Bun.spawn(asAgent(options.identity, options.command), {
    cwd: options.cwd,
    env: options.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    detached: true,
  })
  const keep = async (output: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    const writer = options.writer()
    for await (const chunk of output) writer.write(decoder.decode(chunk, { stream: true }))
    writer.end()
  }
  const read = Promise.allSettled([keep(child.stdout), keep(child.stderr)])
  const ended = child.exited.then(async (code) => {
    await Promise.race([read, Bun.sleep(options.drainMs)])
    return code
  })
  return { child, ended }
}

/** Kills a child that was started with `detached`, together with its whole process group. */
export function killGroup(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(-pid, signal)
  } catch {
    groupHasEnded()
  }
}

function groupHasEnded(): void {}

/** For a promise whose rejection is handled where it is awaited: it must not be reported as unhandled before that. */
export function handledLater(): void {}

/** Returns a function that runs its calls one after the other. A failed call does not stop the later ones. */
export function oneAtATime(): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const mine = last.then(act)
    last = mine.catch(handledLater)
    return mine
  }
}

export interface Finished {
  code: number
  stdout: string
  stderr: string
}

export async function finish(
  command: string[],
  options: { cwd: string; env: Record<string, string>; timeoutMs: number; stdin?: string; bytesMax?: number },
): Promise<Finished> {
  const child = Bun.spawn(command, {
    cwd: options.cwd,
    env: options.env,
    stdin: options.stdin === undefined ? 'ignore' : new Blob([options.stdin]),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
  })
  const bytesMax = options.bytesMax ?? 256 * 1024
  const [stdout, stderr, code] = await Promise.all([
    readAtMost(child.stdout, bytesMax),
    readAtMost(child.stderr, bytesMax),
    child.exited,
  ])
  return { code, stdout, stderr }
}

/** Reads the whole stream so that the writer never blocks, but keeps only `bytesMax`. */
async function readAtMost(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stream) {
    if (text.length < bytesMax) text += decoder.decode(chunk, { stream: true })
  }
  return text.slice(0, bytesMax)
}

/** The last lines of a child's output, joined into one readable line. */
export function lastLines(text: string, count = 5): string {
  return text
    .split('\n')
    .map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, ' ').trim())
    .filter((line) => line !== '')
    .slice(-count)
    .join(' / ')
    .slice(0, 2000)
}
