/** Runs `[sandbox] setup` of svc.toml: one command in the fresh work tree, as the agent, before the runtime starts. */
import { closeSync, openSync, readSync, fstatSync } from 'node:fs'
import { join } from 'node:path'

import { asAgent, killGroup, lastLines } from '../child.ts'
import type { AgentIdentity, DaemonPaths } from '../config.ts'

/** Shorter than the server's limit for this step. */
const setupMs = 9 * 60_000
const tailBytes = 8192

export async function runSetup(options: {
  command: string
  env: Record<string, string>
  identity: AgentIdentity
  paths: DaemonPaths
  log: (message: string) => void
  timeoutMs?: number
}): Promise<void> {
  // Output goes to a file: a service that the command leaves running would keep a pipe open.
  const output = openSync(join(options.paths.runtimeDir, 'setup.log'), 'w+', 0o644)
  try {
    const child = Bun.spawn(asAgent(options.identity, ['/bin/bash', '-c', options.command]), {
      cwd: options.paths.workspace,
      env: options.env,
      stdin: 'ignore',
      stdout: output,
      stderr: output,
      // In its own process group, so that a timeout ends all of it.
      detached: true,
    })
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      killGroup(child.pid)
    }, options.timeoutMs ?? setupMs)
    const code = await child.exited
    clearTimeout(late)
    const lastOutput = lastLines(tailOf(output), 12)
    options.log(`setup exited with code ${code}${lastOutput === '' ? '' : `: ${lastOutput}`}`)
    if (code === 0) return
    const minutes = (options.timeoutMs ?? setupMs) / 60_000
    const how = isLate ? `ran longer than ${minutes} minutes` : `failed with exit code ${code}`
    const tail = lastOutput === '' ? '' : ` Its last lines: ${lastOutput}`
    throw new Error(`The setup command of svc.toml ([sandbox] setup) ${how}.${tail}`)
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
