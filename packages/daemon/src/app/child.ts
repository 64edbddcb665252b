/** A shell line of an app, as the agent's uid, with its output in the log. */
import { asAgent } from '../child.ts'
import type { AgentIdentity } from '../config.ts'
import type { AppLog } from './log.ts'

export interface LoggedChild {
  /** Once it and what it wrote are over. */
  ended: Promise<{ how: string; code: number | null }>
  /** Its whole group, at once. */
  kill(): void
}

/** What a process it left running holds open may go on for ever, and is not waited for. */
const lastWordsMs = 300

export function startLogged(options: {
  command: string[]
  stream: 'build' | 'run'
  cwd: string
  env: Record<string, string>
  identity: AgentIdentity
  log: AppLog
}): LoggedChild {
  const { log, stream } = options
  const child = Bun.spawn(asAgent(options.identity, options.command), {
    cwd: options.cwd,
    env: options.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    // A group of its own, so that all of it ends together.
    detached: true,
  })
  const keep = async (output: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    const writer = log.writer(stream)
    for await (const chunk of output) writer.write(decoder.decode(chunk, { stream: true }))
    writer.end()
  }
  const read = Promise.allSettled([keep(child.stdout), keep(child.stderr)])
  const kill = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // ESRCH: none of the group is left.
    }
  }
  return {
    kill,
    ended: child.exited.then(async (code) => {
      await Promise.race([read, Bun.sleep(lastWordsMs)])
      const how = child.signalCode === null ? `exit code ${code}` : `signal ${child.signalCode}`
      return { how, code: child.signalCode === null ? code : null }
    }),
  }
}
