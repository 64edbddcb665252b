/** Settings with which the next `svc self-host start` would differ from the running server. */
import type { Context } from '../context.ts'
import { serverEnvironment } from './environment.ts'
import { programOf } from './running-program.ts'
import { fingerprints, masked, readSettings } from './settings.ts'
import type { ServerState } from './state.ts'

export interface ChangedSetting {
  name: string
  /** Masked. Undefined when the process can't be read; null for the default. */
  now?: string | null
  /** Masked; null for the default. */
  next: string | null
  /** Whether one of the values is in a shell and not in the settings file, so that it ends with it. */
  only_in_shell: boolean
}

/** `state` is null for a server that something else started. Empty when its settings can't be read. */
export async function changedSettings(
  ctx: Context,
  { pid, state }: { pid: number; state: ServerState | null },
): Promise<ChangedSetting[]> {
  const program = await programOf(pid)
  const found = program?.env ?? {}
  // A systemd service of svc self-host unit sets this itself.
  if (state === null && found.INVOCATION_ID !== undefined) delete found.SVC_LOG
  const ran = state?.settings ?? (program === null || state !== null ? null : fingerprints(found))
  if (ran === null) return []
  const kept = (await readSettings(ctx)) ?? {}
  const env = await serverEnvironment(ctx)
  const [next, inFile, ofProcess] = [fingerprints(env), fingerprints(kept), fingerprints(found)]
  // One that was removed from the file is in no shell.
  const isOnlyInShell = (name: string) =>
    next[name] !== inFile[name] || (next[name] === undefined && state?.from_file?.includes(name) !== true)
  const names = [...new Set([...Object.keys(ran), ...Object.keys(next)])].toSorted()
  return names
    .filter((name) => ran[name] !== next[name])
    .map((name) => ({
      name,
      ...(ran[name] === ofProcess[name] ? { now: shown(name, found[name]) } : {}),
      next: shown(name, env[name]),
      only_in_shell: isOnlyInShell(name),
    }))
}

const shown = (name: string, value: string | undefined) => (value ? masked(name, value) : null)

/** One line for each setting. */
function changeText({ name, now, next, only_in_shell }: ChangedSetting): string {
  const [before, after] = [now, next].map((value) => (value === null ? 'the default' : (value ?? 'another value')))
  return `${name}: ${before} now, ${after} after the next start${only_in_shell ? ' (only set in a shell)' : ''}`
}

/** Shown by `status`, `start`, `upgrade` and `doctor`. */
export function warnOfChanges({ out }: Pick<Context, 'out'>, changes: readonly ChangedSetting[]): void {
  if (changes.length === 0) return
  out.warn('The next svc self-host start would change settings of the running server:')
  for (const change of changes) out.note(`  ${changeText(change)}`)
  if (changes.some((change) => change.only_in_shell))
    out.note('svc self-host env set saves a value for every later start.')
}
