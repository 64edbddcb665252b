/** Starts the server in the background and waits until it serves. */
import type { DoctorFinding, ServerInfo } from '@svc/contract/daemon/owner-socket'
import { foreignFolderRefusal, ownerName } from '@svc/contract/folder-owner'
import { withCommands } from '@svc/contract/shell-words'
import { alreadyRemoved } from '../ignore.ts'
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs'
import { link, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { quote } from '../arguments/shell-word.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { askServerIn } from './ask-owner-link.ts'
import { dataDirOf, logOf, serverEnvironment } from './environment.ts'
import { fingerprints, readSettings } from './settings.ts'
import { selfHostFile } from './self-host-file.ts'
import {
  bornAt,
  forgetServer,
  isAlive,
  isZombie,
  leftServer,
  rememberServer,
  type ServerState,
  type ServingServer,
} from './state.ts'

/** The first start creates a database. */
const readyMs = 120_000

export interface Started {
  state: ServingServer
  /** Signs in the first user who opens it; null if one signed in before. */
  ownerLink: string | null
  /** After a restore, until `svc self-host resume`. */
  held: ServerInfo['held']
  /** The version of svc that used the data folder before. Null: the same one, or none. */
  earlierVersion: string | null
  /** This start made the embedded database. */
  isNew: boolean
  /** Which other servers it joined with a new data folder. */
  joins: string | null
  lacks: DoctorFinding[]
  /** The server printed these warnings at its start. They include both above. */
  warnings: Warned[]
}

type Warned = Pick<DoctorFinding, 'says' | 'mend'>

/** The program and its first arguments; from source, Bun runs it. */
export function serverCommand(): [string, ...string[]] {
  const program = process.execPath
  if (!basename(program).startsWith('bun')) return [program, 'server']
  return [program, resolve(import.meta.dirname, '../../../svc/src/main.ts'), 'server']
}

/** A suggested command with the path of this program, where the `svc` of the PATH may be an earlier one. */
export function withThisProgram(ctx: Context, command: `svc ${string}`): string {
  return ctx.next(command).slice(0, -command.length) + programWords() + command.slice('svc'.length)
}

export function programWords(): string {
  return serverCommand().slice(0, -1).map(quote).join(' ')
}

export async function launchServer(ctx: Context): Promise<Started> {
  const env = await serverEnvironment(ctx)
  const release = interruptAtEnd()
  try {
    return await withStartLock(ctx, () => startServer(ctx, { command: serverCommand(), env }))
  } finally {
    release()
  }
}

/** A terminal that closes and a SIGTERM end the server that is started, as Ctrl-C does. */
function interruptAtEnd(): () => void {
  const signals = ['SIGHUP', 'SIGTERM'] as const
  const interrupt = () => void process.emit('SIGINT', 'SIGINT')
  for (const signal of signals) process.on(signal, interrupt)
  return () => {
    for (const signal of signals) process.off(signal, interrupt)
  }
}

/** For a caller that holds the start lock. */
export async function startServer(
  ctx: Context,
  { command: [program, ...args], env }: { command: [string, ...string[]]; env: Record<string, string> },
): Promise<Started> {
  refuseForeignFolder(dataDirOf(env))
  const log = logOf(env)
  const { from, made } = await prepareLog(log)
  const settings = await settingsOf(ctx, env)
  const pid = await spawnServer(program, args, { env, log })
  const begun: ServerState = {
    pid,
    born: await bornAt(pid),
    program,
    url: null,
    log,
    data_dir: dataDirOf(env),
    started_at: new Date(ctx.io.now()).toISOString(),
    ...settings,
  }
  const url = await serveOrEnd(ctx, begun, from).catch((error) => refusedBeforeData(error, { log, made }))
  const state = { ...begun, url }
  const info = await askServerIn(state.data_dir)
  const held = info?.held ?? null
  await rememberServer(ctx, state, { isCopy: held !== null })
  const said = await saidIn({ log, from })
  const ownerLink = /Owner link\s+(https?:\/\/\S+#\S+)/.exec(said)?.[1] ?? null
  const { earlier_version: earlierVersion = null, joins = null, lacks = [] } = info ?? {}
  const isNew = isMakingDatabase(said)
  return { state, held, ownerLink, earlierVersion, isNew, joins, lacks, warnings: warningsIn(said) }
}

/** With the second line that some have: what to do about it. */
function warningsIn(said: string): Warned[] {
  return Array.from(said.matchAll(/^ {2}Warning: (.+)(?:\n {11}(\S.*))?$/gm), ([, says = '', mend = null]) => ({
    says,
    mend,
  }))
}

/** The server is remembered before it is ready, so that the other commands know it when this one is killed. */
async function serveOrEnd(ctx: Context, begun: ServerState, from: number): Promise<string> {
  const { pid, log } = begun
  const left = await leftServer(ctx)
  try {
    await rememberServer(ctx, begun, { isCopy: true })
    return await untilReady(ctx, { pid, log, from })
  } catch (error) {
    ctx.out.passing('stopping the server')
    await endStarted(pid)
    ctx.out.clearPassing()
    await (left === null ? forgetServer(ctx) : rememberServer(ctx, left, { isCopy: true }))
    throw error
  }
}

async function settingsOf(ctx: Context, env: Record<string, string>) {
  const kept = fingerprints((await readSettings(ctx)) ?? {})
  const settings = fingerprints(env)
  return { settings, from_file: Object.keys(settings).filter((name) => settings[name] === kept[name]) }
}

/** The server refuses it as well. A log of ours would keep the server of that user from starting. */
function refuseForeignFolder(dataDir: string): void {
  const own = process.getuid?.()
  if (own === undefined || !existsSync(dataDir)) return
  const refusal = foreignFolderRefusal(dataDir, {
    uid: statSync(dataDir).uid,
    own,
    passwd: knownUsers(),
    program: programWords(),
  })
  if (refusal !== null) throw new Refusal('not_available', refusal)
}

export function knownUsers(): string {
  return existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8') : ''
}

/** `made`: the first folder that was not there before. */
async function prepareLog(log: string): Promise<{ from: number; made: string | undefined }> {
  const made = await mkdir(dirname(log), { recursive: true, mode: 0o700 }).catch(refuseUnwritable)
  return { from: (await stat(log).catch(() => null))?.size ?? 0, made }
}

/** A data folder in which nothing but our log was made goes again, so that the operator can move the right one there. */
async function refusedBeforeData(
  error: unknown,
  { log, made }: { log: string; made: string | undefined },
): Promise<never> {
  if (made === undefined || !(error instanceof Refusal)) throw error
  const has = [...(await readdir(dirname(log))), ...(await readdir(dirname(dirname(log))))]
  if (has.join() !== [basename(log), basename(dirname(log))].join()) throw error
  await rm(log)
  for (let folder = dirname(log); folder.length >= made.length; folder = dirname(folder)) await rmdir(folder)
  throw new Refusal(error.code, error.message, { next: ['svc self-host env ls'], cause: error })
}

/** The server rotates a long log when it starts. A shorter file has its lines alone. */
async function saidIn({ log, from }: { log: string; from: number }): Promise<string> {
  const written = await readFile(log)
  return written.subarray(written.length < from ? 0 : from).toString()
}

/** As after a restore that root ran for another user. */
function refuseUnwritable(error: NodeJS.ErrnoException): never {
  const own = process.getuid?.()
  const { code, path } = error
  if (code === 'ENOENT' && path !== undefined)
    throw new Refusal('not_available', `${dirname(path)} leads to a folder that is not there`, {
      hint: 'Mount its disk, or set SVC_DATA_DIR to another folder.',
      cause: error,
    })
  if (code !== 'EACCES' || path === undefined || own === undefined) throw error
  const folder = nearestThere(path)
  const { uid } = statSync(folder)
  if (uid === own) throw error
  throw new Refusal(
    'not_available',
    `${folder} belongs to ${ownerName({ uid, passwd: knownUsers() })}, and this user cannot write there`,
    {
      hint: `If the server of this user is to have it, as after a restore that root ran: sudo chown -R ${own} ${quote(folder)}. Otherwise set SVC_DATA_DIR to a folder of your own.`,
      cause: error,
    },
  )
}

function nearestThere(path: string): string {
  return existsSync(path) ? path : nearestThere(dirname(path))
}

/** A new session and process group, so that the server survives this terminal. */
async function spawnServer(
  program: string,
  args: readonly string[],
  { env, log }: { env: Record<string, string>; log: string },
): Promise<number> {
  const file = openSync(log, 'a', 0o600)
  try {
    const child = spawn(program, args, { env, cwd: '/', detached: true, stdio: ['ignore', file, file] })
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      child.once('spawn', () => resolve())
    })
    child.unref()
    return child.pid!
  } finally {
    closeSync(file)
  }
}

/** Returns the URL that the server prints once it serves requests. */
async function untilReady(
  ctx: Context,
  { pid, log, from }: { pid: number; log: string; from: number },
): Promise<string> {
  const { io, out } = ctx
  const began = io.now()
  try {
    for (;;) {
      const said = await saidIn({ log, from })
      const url = /^ {2}Dashboard +(https?:\/\/\S+)$/m.exec(said)?.[1]
      if (url !== undefined) return url
      // It may have written more since the log was read.
      if (!isAlive(pid) || (await isZombie(pid))) throw ended(ctx, await saidIn({ log, from }), log)
      const seconds = Math.round((io.now() - began) / 1000)
      if (seconds * 1000 > readyMs) throw tooSlow(pid, log)
      out.passing(`${phase(said)} (${seconds} s)`)
      await io.sleep(100)
    }
  } finally {
    out.clearPassing()
  }
}

/** Another server can only start when this one has ended. It drains within ten seconds. */
const endMsMax = 15_000

/** After an interrupt or a timeout. Another interrupt ends this process at once. */
async function endStarted(pid: number): Promise<void> {
  const isRunning = async () => isAlive(pid) && !(await isZombie(pid))
  if (!(await isRunning())) return
  end(pid, 'SIGTERM')
  const until = Date.now() + endMsMax
  while (await isRunning()) {
    if (Date.now() > until) end(pid, 'SIGKILL')
    await delay(50)
  }
}

/** It may end by itself at this moment. */
function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

const isMakingDatabase = (said: string) => /Preparing the database/.test(said)

function phase(said: string): string {
  if (isMakingDatabase(said)) return 'creating the database'
  if (/Waiting for the earlier PostgreSQL/.test(said)) return 'waiting for the previous database to stop'
  if (/waiting until an earlier process of this server/.test(said))
    return 'waiting until its earlier process counts as ended'
  return 'starting the server'
}

/** The last line in which the server says why it ended. */
export function reasonIn(said: string): string | undefined {
  const line = said.split('\n').findLast((text) => text.startsWith('svc server: '))
  return line?.slice('svc server: '.length)
}

function ended({ next }: Context, said: string, log: string): Refusal {
  const reason = reasonIn(said) ?? 'The server ended during its start'
  return new Refusal('not_available', withCommands(reason, next), {
    hint: `Its log is ${log}.`,
    next: ['svc self-host logs', 'svc self-host env ls'],
  })
}

function tooSlow(pid: number, log: string): Refusal {
  return new Refusal('timed_out', `The server was not ready after ${readyMs / 1000} s and was stopped`, {
    hint: `It was process ${pid}. Its log is ${log}.`,
    next: ['svc self-host logs'],
  })
}

/** Two simultaneous starts make one server. A lock whose holder has died is ignored. */
export async function withStartLock<T>(ctx: Context, act: () => Promise<T>): Promise<T> {
  const path = selfHostFile(ctx, 'lock')
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const own = `${path}.${process.pid}`
  await writeFile(own, String(process.pid), { mode: 0o600 })
  try {
    // The lock appears with its holder in it: an empty one would look like that of a dead process.
    for (let i = 0; !(await isLinked(own, path)); i++) {
      const holder = await holderOf(path)
      if (isHeld(holder))
        throw new Refusal('not_available', `Another svc (process ${holder}) is starting the server`, {
          next: ['svc self-host status'],
        })
      if (i > 20) throw new Refusal('not_available', `${path} can't be locked`, { hint: 'Remove it.' })
      await removeDeadLock(path, `${own}.dead`)
    }
  } finally {
    await rm(own, { force: true })
  }
  try {
    return await act()
  } finally {
    await rm(path, { force: true })
  }
}

const holderOf = async (path: string) => Number(await readFile(path, 'utf8').catch(() => ''))
const isHeld = (holder: number) => holder > 1 && isAlive(holder)

async function isLinked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Another start may have replaced the dead lock by its own meanwhile, which then goes back to its place. */
async function removeDeadLock(path: string, aside: string): Promise<void> {
  await rename(path, aside).catch(alreadyRemoved)
  if (isHeld(await holderOf(aside))) await isLinked(aside, path)
  await rm(aside, { force: true })
}
