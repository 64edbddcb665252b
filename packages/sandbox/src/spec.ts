/** What every driver asks of a SandboxSpec before it makes anything. */
import { lstatSync } from 'node:fs'

import { SandboxError, type SandboxSpec } from './driver.ts'

export const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/
export function refuseBadSpec(spec: SandboxSpec): void {
  const bad = (message: string) => new SandboxError('boot-failed', message)
  if (!idPattern.test(spec.sandboxId)) throw bad('A sandbox id is 1 to 64 letters, digits, "-" and "_".')
  for (const [name, value] of Object.entries(spec.env)) {
    if (!namePattern.test(name)) throw bad(`${JSON.stringify(name)} is no name of an environment variable.`)
    if (value.includes('\0')) throw bad(`The value of ${name} holds a NUL.`)
  }
  for (const path of [spec.relaySocket, spec.egressSocket]) {
    if (path && !isSocket(path)) throw bad(`There is no socket at ${path}.`)
  }
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket()
  } catch {
    return false
  }
}

export const aborted = () => new SandboxError('aborted', 'The sandbox was stopped while it started.')
