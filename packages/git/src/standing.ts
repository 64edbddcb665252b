import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { enterLane } from './child-queue.ts'
import { type GitChild, startGit } from './git.ts'
import { LRUCache } from 'lru-cache'
import type { Repository } from './repository.ts'
import { borrowObjects, makeScratch, removeScratch } from './scratch.ts'

/**
 * A git that stays for the next question of its kind. Most of what a small question costs is starting a process; these
 * few answer line by line, and hold no lock once they have answered. Nobody depends on them: when one does not answer,
 * the same question goes to a git of its own, which also has the right words for what is wrong.
 */
export interface StandingKind {
  name: string
  args: string[]
  config?: [string, string][]
  /** Objects it writes go into a folder that is thrown away with it. */
  discards?: boolean
  /** How long it may live at most, where the usual is too long. */
  lifeMs?: number
}

/** Looks at what came so far. undefined: not all is there yet. What it throws ends the child. */
export type ReadAnswer<T> = (bytes: Buffer) => T | undefined

/** All of them together; the one that was asked longest ago makes room. */
const childrenMax = 12
const idleMs = 30_000
/** A child adds up memory, processor time and thrown away objects over its life. */
const questionsMax = 64
const lifeMs = 120_000
const waitingMax = 16
/** A repository with a question that takes this long gains nothing here, and would make its other readers queue. */
const answerMsMax = 2_000
const answerBytesMax = 1024 * 1024

interface Child {
  key: string
  git: GitChild
  /** Which folder it was started in: a mirror that is made anew has the same path. */
  place: string
  scratch: string | null
  startedAt: number
  asked: number
  waiting: number
  tail: Promise<unknown>
  rest: Buffer
  heard: () => void
  ended: boolean
  idle?: ReturnType<typeof setTimeout>
}

const children = new Map<string, Promise<Child | null>>()
/** Those that make room are still among them until they are gone. */
const alive = new Set<Child>()
const starting = new Set<Promise<unknown>>()
const slow = new LRUCache<string, true>({ max: 1000, ttl: 600_000 })

/** One question and its answer. null: ask a git of its own. */
export function askStanding<T>(
  repo: Repository,
  kind: StandingKind,
  question: string | Buffer,
  read: ReadAnswer<T>,
): Promise<T | null> {
  return talkToStanding(repo, kind, (ask) => ask(question, read))
}

/** What is asked of one child without anybody else in between. */
export type Talk<T> = (
  ask: <A>(question: string | Buffer, read: ReadAnswer<A>) => Promise<A>,
  /** Where the objects are that it wrote, of a kind that discards them. */
  objectsDir: string,
) => Promise<T>

/** The same for several questions, and for what has to be done while the child still stands by. */
export async function talkToStanding<T>(repo: Repository, kind: StandingKind, talk: Talk<T>): Promise<T | null> {
  const key = keyOf(kind, repo.dir)
  if (slow.has(key)) return null
  const info = await stat(repo.dir).catch(() => null)
  if (!info) return null
  const child = await findChild(key, repo, kind, `${info.ino} ${info.birthtimeMs}`)
  if (!child || child.waiting >= waitingMax) return null
  child.waiting++
  const mine = child.tail.then(() => talkInTurn(key, child, talk))
  child.tail = mine
  return mine.finally(() => child.waiting--)
}

/** Ends all of them, once they have answered what they were asked, and waits until their folders are gone. */
export async function endStanding(): Promise<void> {
  for (const [key, child] of children) drop(key, child)
  await Promise.all(starting)
  await Promise.all([...alive].map((child) => child.tail.then(() => end(child))))
}

/** The same for those of one kind in one repository. */
export async function endStandingOf(kind: StandingKind, dir: string): Promise<void> {
  const key = keyOf(kind, dir)
  const found = children.get(key)
  if (found) drop(key, found)
  await found
  await Promise.all([...alive].filter((one) => one.key === key).map((one) => one.tail.then(() => end(one))))
}

function keyOf(kind: StandingKind, dir: string): string {
  return `${kind.name}\0${dir}`
}

async function findChild(key: string, repo: Repository, kind: StandingKind, place: string): Promise<Child | null> {
  const found = children.get(key)
  if (found) {
    const child = await found
    const isGood =
      child !== null &&
      !child.ended &&
      child.place === place &&
      child.asked < questionsMax &&
      Date.now() - child.startedAt < (kind.lifeMs ?? lifeMs)
    if (isGood) {
      if (children.get(key) === found) {
        children.delete(key)
        children.set(key, found)
      }
      return child
    }
    drop(key, found)
  }
  if (children.has(key)) return null
  if (children.size >= childrenMax && !makeRoom()) return null
  const started = startChild(key, repo, kind, place).catch(() => null)
  starting.add(started)
  void started.then(() => starting.delete(started))
  children.set(key, started)
  return started
}

/** The one asked longest ago; it answers what it was asked before it ends. */
function makeRoom(): boolean {
  const [oldest] = children
  if (!oldest) return false
  drop(...oldest)
  return true
}

function drop(key: string, child: Promise<Child | null>): void {
  if (children.get(key) === child) children.delete(key)
  void child.then((one) => one?.tail.then(() => end(one)))
}

async function startChild(key: string, repo: Repository, kind: StandingKind, place: string): Promise<Child> {
  const scratch = kind.discards ? await makeScratch(repo.dir, 'standing') : null
  try {
    const env = scratch === null ? {} : await borrowObjects(repo.dir, scratch)
    const git = await startGit(repo.dir, kind.args, {
      readAtOnce: true,
      env,
      lane: 'standing',
      ...(kind.config ? { config: kind.config } : {}),
    })
    // It must not keep a program from ending; its pipes end with that program, and it with them.
    git.background()
    const child: Child = {
      key,
      git,
      place,
      scratch,
      startedAt: Date.now(),
      asked: 0,
      waiting: 0,
      tail: Promise.resolve(),
      rest: Buffer.alloc(0),
      heard: () => {},
      ended: false,
    }
    alive.add(child)
    git.stdout.on('data', (chunk: Buffer) => {
      // More than is read anyway, of one that is about to be ended: gluing it together would take longer than it takes git.
      if (child.ended || child.rest.length > answerBytesMax) return
      child.rest = child.rest.length > 0 ? Buffer.concat([child.rest, chunk]) : chunk
      child.heard()
    })
    void git.ended.then(async () => {
      child.ended = true
      clearTimeout(child.idle)
      child.heard()
      // What cannot be removed now is swept once this process is gone.
      if (scratch !== null) await removeScratch(scratch).catch(() => {})
      alive.delete(child)
    })
    waitIdly(key, child)
    return child
  } catch (error) {
    if (scratch !== null) await removeScratch(scratch)
    throw error
  }
}

function waitIdly(key: string, child: Child): void {
  clearTimeout(child.idle)
  child.idle = setTimeout(() => {
    const mine = children.get(key)
    void mine?.then((one) => one === child && drop(key, mine))
    if (!mine) void end(child)
  }, idleMs)
  child.idle.unref()
}

async function end(child: Child): Promise<void> {
  child.git.stdin.end()
  await child.git.ended
  if (child.scratch !== null) await removeScratch(child.scratch).catch(() => {})
}

async function talkInTurn<T>(key: string, child: Child, talk: Talk<T>): Promise<T | null> {
  const leave = child.ended ? null : await enterLane('local', { key }).catch(() => null)
  if (leave === null) return null
  const since = performance.now()
  child.asked++
  try {
    const said = await talk((question, read) => hear(child, question, read), join(child.scratch ?? '', 'objects'))
    // With it goes what it wrote, perhaps before all of that was taken.
    return child.ended ? null : said
  } catch {
    // Whatever it was, its answers can no longer be told apart. A git of its own finds out what is wrong.
    if (performance.now() - since >= answerMsMax) slow.set(key, true)
    child.git.kill('aborted')
    child.ended = true
    return null
  } finally {
    leave()
    waitIdly(key, child)
  }
}

function hear<T>(child: Child, question: string | Buffer, read: ReadAnswer<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => finish(() => reject(new Error('no answer in time'))), answerMsMax)
    const finish = (tell: () => void) => {
      clearTimeout(timer)
      child.heard = () => {}
      tell()
    }
    child.heard = () => {
      if (child.ended) return finish(() => reject(new Error('it ended')))
      if (child.rest.length > answerBytesMax) return finish(() => reject(new Error('it answers too much')))
      try {
        const answer = read(child.rest)
        if (answer === undefined) return
        child.rest = Buffer.alloc(0)
        finish(() => resolve(answer))
      } catch (error) {
        finish(() => reject(error as Error))
      }
    }
    child.git.stdin.write(question)
  })
}
