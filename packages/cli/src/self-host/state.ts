/** Which server `svc self-host` started, and whether it is still that one: a process id alone may be another program's by now. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Context } from '../context.ts'

export interface ServerState {
  pid: number
  /** When the kernel started it, in its own count; null where it does not tell. */
  born: string | null
  program: string
  url: string
  log: string
  data_dir: string
  started_at: string
  /** A hash of each setting it was started with. */
  settings?: Record<string, string>
}

type Where = Pick<Context, 'configPath'>

/** Settings, state and lock lie beside the client's configuration. */
export function selfHostFile(ctx: Where, name: 'env' | 'json' | 'lock'): string {
  return join(dirname(ctx.configPath()), `self-host.${name}`)
}

/** Null when none runs. */
export async function runningServer(ctx: Where): Promise<ServerState | null> {
  const text = await readFile(selfHostFile(ctx, 'json'), 'utf8').catch(() => null)
  if (text === null) return null
  const state = parse(text)
  return state !== null && isAlive(state.pid) && (await bornAt(state.pid)) === state.born ? state : null
}

export async function rememberServer(ctx: Where, state: ServerState): Promise<void> {
  const path = selfHostFile(ctx, 'json')
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFile(`${path}.tmp`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.tmp`, path)
}

export async function forgetServer(ctx: Where): Promise<void> {
  await rm(selfHostFile(ctx, 'json'), { force: true })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Somebody else's process is a process.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export async function bornAt(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  // The name in the second field may hold anything, so fields are counted from its end.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
}

function parse(text: string): ServerState | null {
  try {
    const state = JSON.parse(text) as ServerState
    return Number.isInteger(state.pid) && state.pid > 1 && typeof state.url === 'string' ? state : null
  } catch {
    return null
  }
}
