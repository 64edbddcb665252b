/** The server that `svc self-host` started. A process id alone may belong to another program by now. */
import { parseJson } from '@svc/contract/json'
import { replacePrivateFile } from '../config/private-file.ts'
import { readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Context } from '../context.ts'

export interface ServerState {
  pid: number
  /** The start time in kernel ticks; null where it is not available. */
  born: string | null
  program: string
  url: string
  log: string
  data_dir: string
  started_at: string
  settings?: Record<string, string>
}

type Where = Pick<Context, 'configPath'>

/** Settings, state and lock are next to the client's configuration. */
export function selfHostFile(ctx: Where, name: 'env' | 'json' | 'lock'): string {
  return join(dirname(ctx.configPath()), `self-host.${name}`)
}

export async function runningServer(ctx: Where): Promise<ServerState | null> {
  const state = await recordedServer(ctx)
  return state !== null && (await isRunning(state)) ? state : null
}

/** The server that ended without `svc self-host stop`: a crash, a kill, or the end of the machine. */
export async function leftServer(ctx: Where): Promise<ServerState | null> {
  const state = await recordedServer(ctx)
  return state === null || (await isRunning(state)) ? null : state
}

async function recordedServer(ctx: Where): Promise<ServerState | null> {
  const text = await readFile(selfHostFile(ctx, 'json'), 'utf8').catch(() => null)
  return text === null ? null : parse(text)
}

async function isRunning({ pid, born }: ServerState): Promise<boolean> {
  return isAlive(pid) && (await bornAt(pid)) === born && !(await isZombie(pid))
}

export async function rememberServer(ctx: Where, state: ServerState): Promise<void> {
  await replacePrivateFile(selfHostFile(ctx, 'json'), `${JSON.stringify(state, null, 2)}\n`)
}

export async function forgetServer(ctx: Where): Promise<void> {
  await rm(selfHostFile(ctx, 'json'), { force: true })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Another user's process also counts.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export async function bornAt(pid: number): Promise<string | null> {
  return (await statOf(pid))[19] ?? null
}

/** A dead process stays in the table until its parent, which may be a container's first process, asks for it. */
export async function isZombie(pid: number): Promise<boolean> {
  return (await statOf(pid))[0] === 'Z'
}

/** The fields after the name, which may hold anything, so they are counted from its end. */
export async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function parse(text: string): ServerState | null {
  const state = parseJson(text) as ServerState | null | undefined
  return Number.isInteger(state?.pid) && state!.pid > 1 && typeof state!.url === 'string' ? state! : null
}
