/** The server that `svc self-host` started. A process id alone may belong to another program by now. */
import { parseJson } from '@svc/contract/json'
import { replacePrivateFile } from '../config/private-file.ts'
import { readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Context } from '../context.ts'
import { savedFolder } from './environment.ts'
import { selfHostFile, stateFileOf } from './self-host-file.ts'

export interface ServerState {
  pid: number
  /** The start time in kernel ticks; null where it is not available. */
  born: string | null
  program: string
  /** Null until the server is ready. */
  url: string | null
  log: string
  data_dir: string
  started_at: string
  settings?: Record<string, string>
  /** Names of those that came from the settings file. Servers of earlier versions have none. */
  from_file?: string[]
  /** A stop has asked it to end, and may have been interrupted before it did. */
  stop_asked?: true
}

export type ServingServer = ServerState & { url: string }

type Where = Pick<Context, 'configPath' | 'io'>

export async function runningServer(ctx: Where): Promise<ServerState | null> {
  const state = await recordedServer(ctx)
  return state !== null && (await isRunning(state)) ? state : null
}

/** The server that ended without `svc self-host stop`: a crash, a kill, or the end of the machine. */
export async function leftServer(ctx: Where): Promise<ServerState | null> {
  const state = await recordedServer(ctx)
  return state === null || state.stop_asked === true || (await isRunning(state)) ? null : state
}

/** The running server that the commands mean without a SVC_DATA_DIR in their shell. */
export async function usualServer(ctx: Where): Promise<ServerState | null> {
  const state = await usualState(ctx)
  return state !== null && (await isRunning(state)) ? state : null
}

/** Servers that run on other data folders than the one that the commands mean. */
export async function serversBeside(ctx: Where): Promise<ServerState[]> {
  const mine = (await runningServer(ctx))?.data_dir
  const folder = dirname(ctx.configPath())
  const names = (await readdir(folder).catch(absent)).filter((name) => /^self-host(-[0-9a-f]{12})?\.json$/.test(name))
  const states = await Promise.all(names.map((name) => read(join(folder, name))))
  const others = states.filter((state) => state !== null).filter(({ data_dir }) => data_dir !== mine)
  const running = await Promise.all(others.map(isRunning))
  return others.filter((_, at) => running[at])
}

/** No server was started here. */
function absent(): string[] {
  return []
}

/** A shell may name the data folder of another server than the usual one, such as a restored copy beside its original. */
async function recordedServer(ctx: Where): Promise<ServerState | null> {
  const usual = await usualState(ctx)
  const folder = folderOfShell(ctx)
  return folder === null || usual?.data_dir === folder ? usual : read(stateFileOf(ctx, folder))
}

/** A copy that was started beside its original may be the folder of the saved settings by now. */
async function usualState(ctx: Where): Promise<ServerState | null> {
  const usual = await read(selfHostFile(ctx, 'json'))
  if (usual !== null && (await isRunning(usual))) return usual
  return (await read(stateFileOf(ctx, await savedFolder(ctx)))) ?? usual
}

function folderOfShell({ io }: Where): string | null {
  return io.env.SVC_DATA_DIR ? resolve(io.env.SVC_DATA_DIR) : null
}

async function read(path: string): Promise<ServerState | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  return text === null ? null : parse(text)
}

async function isRunning({ pid, born }: ServerState): Promise<boolean> {
  return isAlive(pid) && (await bornAt(pid)) === born && !(await isZombie(pid))
}

/** Never over the state of a server of another folder, and a copy does not become the usual server. */
export async function rememberServer(ctx: Where, state: ServerState, { isCopy }: { isCopy: boolean }): Promise<void> {
  const [main, own] = [selfHostFile(ctx, 'json'), stateFileOf(ctx, state.data_dir)]
  const usual = await read(main)
  const isApart = folderOfShell(ctx) !== null && usual?.data_dir !== state.data_dir && (isCopy || usual !== null)
  await replacePrivateFile(isApart ? own : main, `${JSON.stringify(state, null, 2)}\n`)
  if (!isApart) await rm(own, { force: true })
}

export async function forgetServer(ctx: Where): Promise<void> {
  const folder = (await recordedServer(ctx))?.data_dir ?? folderOfShell(ctx)
  const isUsual = folder === null || (await read(selfHostFile(ctx, 'json')))?.data_dir === folder
  await rm(isUsual ? selfHostFile(ctx, 'json') : stateFileOf(ctx, folder), { force: true })
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

/** By a signal, such as Ctrl-Z in its terminal or a debugger: it does nothing until it is continued. */
export async function isPaused(pid: number): Promise<boolean> {
  return /^[Tt]$/.test((await statOf(pid))[0] ?? '')
}

/** The fields after the name, which may hold anything, so they are counted from its end. */
export async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function parse(text: string): ServerState | null {
  const state = parseJson(text) as ServerState | null | undefined
  const isState = Number.isInteger(state?.pid) && state!.pid > 1
  return isState && (state!.url === null || typeof state!.url === 'string') ? state! : null
}
