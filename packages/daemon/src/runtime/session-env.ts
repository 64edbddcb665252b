/**
 * The session's variables that arrive or change while the runtime runs. The runtime reads its environment once, but
 * every bash it starts sources this file.
 */
import { renameSync, writeFileSync } from 'node:fs'

import { refuseSecretName } from '../config.ts'
import { ControlError } from '../http/reply.ts'

export type SessionEnv = ReturnType<typeof createSessionEnv>

const valueBytesMax = 64 * 1024
const allBytesMax = 512 * 1024

export function createSessionEnv(options: { file: string; atStart: Record<string, string>; revision: string }) {
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
    // Renamed into place, so that a starting bash reads the old file or the new one, never a partial one.
    const next = `${options.file}.next`
    writeFileSync(next, `${lines.join('\n')}\n`, { mode: 0o644 })
    renameSync(next, options.file)
  }

  return {
    /** The secrets that the next start of the runtime gets. */
    get secrets() {
      return secrets
    },
    get revision() {
      return revision
    },
    /**
     * Replaces the whole set of secrets. `about` holds the platform variables that describe the set. Returns the
     * names of secrets that were added, removed, or changed.
     */
    replace(nextRevision: string, env: Record<string, string>, about: Record<string, string> = {}): string[] {
      refuseBad(env)
      const names = new Set([...Object.keys(secrets), ...Object.keys(env)])
      const changed = [...names].filter((name) => secrets[name] !== env[name]).sort()
      for (const name of Object.keys(env)) everKnown.add(name)
      secrets = { ...env }
      revision = nextRevision
      platform = { ...platform, ...about }
      write()
      return changed
    },
    /** Sets the platform variables that differ from those at launch. */
    setPlatform(atLaunch: Record<string, string>, now: Record<string, string>): void {
      const names = new Set([...Object.keys(atLaunch), ...Object.keys(now)])
      const changed = [...names].filter((name) => atLaunch[name] !== now[name]).map((name) => [name, now[name]])
      platform = { ...platform, ...Object.fromEntries(changed) }
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
      throw new ControlError(400, 'invalid', `The value of ${name} must be a string without NUL characters.`)
    }
    const size = Buffer.byteLength(value)
    total += size
    if (size > valueBytesMax) throw new ControlError(400, 'invalid', `The value of ${name} is larger than 64 KiB.`)
  }
  if (total > allBytesMax) throw new ControlError(400, 'invalid', 'All values together are larger than 512 KiB.')
}

/** Single quotes keep every byte; only single quotes themselves need escaping. */
function quoted(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`
}
