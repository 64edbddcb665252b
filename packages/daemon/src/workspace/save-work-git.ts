/** Runs git for `svc-agent save-work` and `svc-agent read-files` under the agent's uid, so the agent's settings and hooks gain no privilege. */

import { lastLines } from '../child.ts'

export interface Done {
  code: number
  /** Latin-1, one character per byte, so that file names of any bytes survive. */
  stdout: string
  stderr: string
}

export type Git = (args: string[], options?: { input?: string }) => Promise<Done>

const outputBytesMax = 256 * 1024 * 1024

/** Turns off conversions and helpers that a repository may configure. */
const always = [
  ...['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', '-c', 'core.untrackedCache=false'],
  ...['-c', 'core.autocrlf=false', '-c', 'core.splitIndex=false', '-c', 'core.sparseCheckout=false'],
  ...['-c', 'gc.auto=0', '-c', 'maintenance.auto=false', '-c', 'core.bare=false', '-c', 'core.bigFileThreshold=8m'],
  ...['-c', 'core.quotePath=false', '-c', 'pack.threads=1', '-c', 'core.looseCompression=1'],
]

export function childGit(where: string[], env: Record<string, string>, cwd = '/'): Git {
  return async (args, { input } = {}) => {
    const child = Bun.spawn(['git', ...where, ...always, ...args], {
      cwd,
      env,
      stdin: input === undefined ? 'ignore' : Buffer.from(input, 'latin1'),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr, code] = await Promise.all([readAll(child.stdout), readAll(child.stderr), child.exited])
    return { code, stdout, stderr }
  }
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.length
    if (bytes > outputBytesMax) throw new Error('The work tree has too many files to list.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('latin1')
}

export class GitFailed extends Error {
  constructor(args: string[], done: Done) {
    super(`git ${args[0]} failed: ${lastLines(done.stderr) || `exit code ${done.code}`}`)
    this.name = 'GitFailed'
  }
}

export const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '')
/** Splits `-z` output. */
export const names = (text: string): string[] => text.split('\0').filter((name) => name !== '')
