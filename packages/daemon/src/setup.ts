/** `[sandbox] setup` of svc.toml: one command in the fresh work tree, as the agent, before its runtime starts. */
import { closeSync, openSync, readSync, fstatSync } from 'node:fs'
import { join } from 'node:path'

import { asAgent, lastLines } from './child.ts'
import type { AgentIdentity, DaemonPaths } from './config.ts'

/** Inside the time that the server gives this step. */
export const setupMs = 9 * 60_000
const tailBytes = 8192

export async function runSetup(options: {
  command: string
  env: Record<string, string>
  identity: AgentIdentity
  paths: DaemonPaths
  log: (message: string) => void
  timeoutMs?: number
}): Promise<void> {
  // A file and no pipe: a service that the command leaves running would hold a pipe open for ever.
  const output = openSync(join(options.paths.runtimeDir, 'setup.log'), 'w+', 0o644)
  try {
    const child = Bun.spawn(asAgent(options.identity, ['/bin/bash', '-c', options.command]), {
      cwd: options.paths.workspace,
      env: options.env,
      stdin: 'ignore',
      stdout: output,
      stderr: output,
      // A group of its own, so that all of it ends when time is up.
      detached: true,
    })
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      process.kill(-child.pid, 'SIGKILL')
    }, options.timeoutMs ?? setupMs)
    const code = await child.exited
    clearTimeout(late)
    const said = lastLines(tailOf(output), 12)
    options.log(`setup ended with exit code ${code}${said === '' ? '' : `: ${said}`}`)
    if (code === 0) return
    const how = isLate
      ? `was ended after ${(options.timeoutMs ?? setupMs) / 60_000} minutes`
      : `failed with exit code ${code}`
    throw new Error(
      `The setup command of svc.toml ([sandbox] setup) ${how}.${said === '' ? '' : ` Its last lines: ${said}`}`,
    )
  } finally {
    closeSync(output)
  }
}

function tailOf(file: number): string {
  const { size } = fstatSync(file)
  const from = Math.max(0, size - tailBytes)
  const tail = Buffer.alloc(Math.min(size, tailBytes))
  return tail.toString('utf8', 0, readSync(file, tail, 0, tail.length, from))
}
