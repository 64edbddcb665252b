/** Runs a command of an app under the agent's uid and logs its output. */
import { asAgent, killGroup } from '../child.ts'
import type { AgentIdentity } from '../config.ts'
import type { AppLog } from './log.ts'

export interface LoggedChild {
  /** Resolves when the process has exited and its output is read. */
  ended: Promise<{ how: string; code: number | null }>
  /** Kills the whole process group. */
  kill(): void
}

/** A process left running may keep the pipes open, so the wait for output has a limit. */
const drainMs = 300

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
    // In its own process group, so that all of it ends together.
    detached: true,
  })
  const keep = async (output: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    const writer = log.writer(stream)
    for await (const chunk of output) writer.write(decoder.decode(chunk, { stream: true }))
    writer.end()
  }
  const read = Promise.allSettled([keep(child.stdout), keep(child.stderr)])
  return {
    kill: () => killGroup(child.pid),
    ended: child.exited.then(async (code) => {
      await Promise.race([read, Bun.sleep(drainMs)])
      const how = child.signalCode === null ? `exit code ${code}` : `signal ${child.signalCode}`
      return { how, code: child.signalCode === null ? code : null }
    }),
  }
}

/** Waits for the end of a child, kills it after `msMax`, and then kills whatever it left running. */
export async function endedWithin(child: LoggedChild, msMax: number) {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    child.kill()
  }, msMax)
  const end = await child.ended
  clearTimeout(timer)
  child.kill()
  return { ...end, isLate }
}
