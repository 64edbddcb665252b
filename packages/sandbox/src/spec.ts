/** Checks of a SandboxSpec that every driver makes before it creates anything. */
import { lstatSync } from 'node:fs'

import { type ProbeOutcome, SandboxError, type SandboxSpec } from './driver.ts'

export const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/
export function refuseBadNames({ sandboxId, env }: SandboxSpec): void {
  const bad = (message: string) => new SandboxError('boot-failed', message)
  if (!idPattern.test(sandboxId)) throw bad('A sandbox id has 1 to 64 letters, digits, "-", and "_".')
  for (const [name, value] of Object.entries(env)) {
    if (!namePattern.test(name)) throw bad(`${JSON.stringify(name)} is not a valid environment variable name.`)
    if (value.includes('\0')) throw bad(`The value of ${name} contains a NUL.`)
  }
}

export function refuseBadSpec(spec: SandboxSpec): void {
  refuseBadNames(spec)
  for (const path of [spec.relaySocket, spec.egressSocket]) {
    if (path && !isSocket(path)) throw new SandboxError('boot-failed', `${path} is not a socket.`)
  }
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket()
  } catch {
    // Nothing exists at this path.
    return false
  }
}

export const aborted = () => new SandboxError('aborted', 'The sandbox was stopped while it started.')

export const noIsolation = ({ problem, install }: Extract<ProbeOutcome, { kind: 'missing' }>) =>
  new SandboxError('no-isolation', problem, install === null ? {} : { hint: install })
