/** Children of the daemon: run as the agent, with a closed environment, bounded output and an end. */
import type { AgentIdentity } from './config.ts'

export const systemPath = '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin'

/**
 * The command under the agent's uid: no groups, no capability, no way to get one. The kernel should rather end it than
 * the daemon when memory is short, and its uid may have only so many processes.
 */
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

/** All of it is read, so that the writer is never stuck; what is too much is dropped. */
async function readAtMost(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stream) {
    if (text.length < bytesMax) text += decoder.decode(chunk, { stream: true })
  }
  return text.slice(0, bytesMax)
}

/** The last lines of a child, as one line a person can read. */
export function lastLines(text: string, count = 5): string {
  return text
    .split('\n')
    .map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, ' ').trim())
    .filter((line) => line !== '')
    .slice(-count)
    .join(' / ')
    .slice(0, 2000)
}
