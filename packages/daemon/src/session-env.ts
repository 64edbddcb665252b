/** What becomes known, or changes, while the runtime runs. It reads its environment once, but every bash it starts sources this file. */
import { renameSync, writeFileSync } from 'node:fs'

import { refuseSecretName } from './config.ts'
import { ControlError } from './reply.ts'

export interface SessionEnv {
  /** As the next start of the runtime gets them. */
  readonly secrets: Record<string, string>
  readonly revision: string
  /** The whole set of secrets from now on. Answers the names that came, went or changed. */
  replace(revision: string, env: Record<string, string>): string[]
  /** The platform's variables from now on, for a runtime that was started with others. */
  setPlatform(atLaunch: Record<string, string>, now: Record<string, string>): void
}

const valueBytesMax = 64 * 1024
const allBytesMax = 512 * 1024

export function createSessionEnv(options: {
  file: string
  atStart: Record<string, string>
  revision: string
}): SessionEnv {
  let secrets = { ...options.atStart }
  let revision = options.revision
  let platform: Record<string, string | undefined> = {}
  const everKnown = new Set(Object.keys(secrets))
  write()

  function write(): void {
    const all = { ...Object.fromEntries([...everKnown].map((name) => [name, secrets[name]])), ...platform }
    const lines = Object.keys(all)
      .sort()
      .map((name) => (all[name] === undefined ? `unset ${name}` : `export ${name}=${quoted(all[name])}`))
    // A bash that starts this moment reads the old file or the new one, never half of one.
    const next = `${options.file}.next`
    writeFileSync(next, `${lines.join('\n')}\n`, { mode: 0o644 })
    renameSync(next, options.file)
  }

  return {
    get secrets() {
      return secrets
    },
    get revision() {
      return revision
    },
    replace(nextRevision, env) {
      refuseBad(env)
      const names = new Set([...Object.keys(secrets), ...Object.keys(env)])
      const changed = [...names].filter((name) => secrets[name] !== env[name]).sort()
      for (const name of Object.keys(env)) everKnown.add(name)
      secrets = { ...env }
      revision = nextRevision
      write()
      return changed
    },
    setPlatform(atLaunch, now) {
      const names = new Set([...Object.keys(atLaunch), ...Object.keys(now)])
      platform = Object.fromEntries(
        [...names].filter((name) => atLaunch[name] !== now[name]).map((name) => [name, now[name]]),
      )
      write()
    },
  }
}

function refuseBad(env: Record<string, string>): void {
  let total = 0
  for (const [name, value] of Object.entries(env)) {
    const reason = refuseSecretName(name)
    if (reason !== null) throw new ControlError(400, 'invalid', reason)
    if (typeof value !== 'string' || value.includes('\0')) {
      throw new ControlError(400, 'invalid', `The value of ${name} is no text that a program can be given.`)
    }
    const size = Buffer.byteLength(value)
    total += size
    if (size > valueBytesMax) throw new ControlError(400, 'invalid', `The value of ${name} is larger than 64 KiB.`)
  }
  if (total > allBytesMax) throw new ControlError(400, 'invalid', 'All values together are larger than 512 KiB.')
}

/** Single quotes keep every byte as it is; only they themselves need care. */
function quoted(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`
}
