/** Runs a command of an app under the agent's uid and logs its output. */
import { killGroup, startWatched } from '../child.ts'
import type { AgentIdentity } from '../config.ts'
import type { AppLog } from './log.ts'

export type LoggedChild = ReturnType<typeof startLogged>

const drainMs = 300

export function startLogged(options: {
  command: string[]
  stream: 'build' | 'run'
  cwd: string
  env: Record<string, string>
  identity: AgentIdentity
  log: AppLog
}) {
  const { child, ended } = startWatched({ ...options, drainMs, writer: () => options.log.writer(options.stream) })
  return {
    /** Kills the whole process group. */
    kill: () => killGroup(child.pid),
    ended: ended.then((code) =>
      child.signalCode === null
        ? { how: `exit code ${code}`, code }
        : { how: `signal ${child.signalCode}`, code: null },
    ),
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
