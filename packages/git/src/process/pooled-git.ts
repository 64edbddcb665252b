import { join } from 'node:path'
import { enterLane } from './child-queue.ts'
import { type GitChild, startGit } from './git.ts'
import { observeProcess } from './observe.ts'
import { LRUCache } from 'lru-cache'
import type { Repository } from '../repository.ts'
import { borrowObjects, makeScratch, placeOf, removeScratch } from './scratch.ts'

/**
 * Pooled git processes, each kept for more questions of one kind, since starting git costs more than a small
 * question. These commands answer line by line and hold no lock afterwards. The pool is optional: when a process does
 * not answer, the caller runs a separate git, which also reports what is wrong.
 */
export interface PooledGitKind {
  name: string
  args: string[]
  config?: [string, string][]
  /** Objects it writes go to a folder that is removed with the process. */
  discards?: boolean
  /** Maximum lifetime, where the default is too long. */
  lifeMs?: number
}

/** Parses the output so far; undefined: incomplete. An exception ends the process. */
type ReadAnswer<T> = (bytes: Buffer) => T | undefined

/** Limit for all pooled processes; beyond it the least recently used one ends. */
const childrenMax = 12
const idleMs = 30_000
/** A process accumulates memory, CPU time, and discarded objects. */
const questionsMax = 64
const lifeMs = 120_000
const waitingMax = 16
/** A repository whose questions take this long gains nothing from the pool and would delay other readers. */
const answerMsMax = 2_000
const answerBytesMax = 1024 * 1024

interface Child {
  key: string
  git: GitChild
  /** Identifies the folder: a mirror that is created again has the same path. */
  place: string
  scratch: string | null
  startedAt: number
  asked: number
  waiting: number
  tail: Promise<unknown>
  rest: Buffer
  onOutput: () => void
  ended: boolean
  idle?: ReturnType<typeof setTimeout>
}

const children = new Map<string, Promise<Child | null>>()
/** Includes processes that are ending. */
const alive = new Set<Child>()
const starting = new Set<Promise<unknown>>()
const slow = new LRUCache<string, true>({ max: 1000, ttl: 600_000 })

/** One question and its answer. null: use a separate git process. */
export function queryPooledGit<T>(
  repo: Repository,
  kind: PooledGitKind,
  question: string | Buffer,
  read: ReadAnswer<T>,
): Promise<T | null> {
  return talkToPooledGit(repo, kind, (ask) => ask(question, read))
}

/** An exclusive conversation with one process. */
export type Talk<T> = (
  ask: <A>(question: string | Buffer, read: ReadAnswer<A>) => Promise<A>,
  /** The folder of the objects it wrote, for kinds that discard them. */
  objectsDir: string,
) => Promise<T>

/** The same for several questions, or for work to do while the process is reserved. */
export async function talkToPooledGit<T>(repo: Repository, kind: PooledGitKind, talk: Talk<T>): Promise<T | null> {
  const key = keyOf(kind, repo.dir)
  if (slow.has(key)) return null
  const place = await placeOf(repo.dir)
  if (place === null) return null
  const child = await findChild(key, repo, kind, place)
  if (!child || child.waiting >= waitingMax) return null
  child.waiting++
  const mine = child.tail.then(() => talkInTurn(key, child, kind, talk))
  child.tail = mine
  return mine.finally(() => child.waiting--)
}

/** Ends all of them after their current questions, and waits until their folders are removed. */
export async function endPooledGit(): Promise<void> {
  for (const [key, child] of children) drop(key, child)
  await Promise.all(starting)
  await Promise.all([...alive].map((child) => child.tail.then(() => end(child))))
}

/** The same for one kind in one repository. */
export async function endPooledGitOf(kind: PooledGitKind, dir: string): Promise<void> {
  const key = keyOf(kind, dir)
  const found = children.get(key)
  if (found) drop(key, found)
  await found
  await Promise.all([...alive].filter((one) => one.key === key).map((one) => one.tail.then(() => end(one))))
}

function keyOf(kind: PooledGitKind, dir: string): string {
  return `${kind.name}\0${dir}`
}

async function findChild(key: string, repo: Repository, kind: PooledGitKind, place: string): Promise<Child | null> {
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

/** Ends the least recently used process after its current question. */
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

async function startChild(key: string, repo: Repository, kind: PooledGitKind, place: string): Promise<Child> {
  const scratch = kind.discards ? await makeScratch(repo.dir, 'standing') : null
  try {
    const env = scratch === null ? {} : await borrowObjects(repo.dir, scratch)
    const git = await startGit(repo.dir, kind.args, {
      readAtOnce: true,
      env,
      lane: 'standing',
      ...(kind.config ? { config: kind.config } : {}),
    })
    // Must not keep this program running. When the program ends, the pipes close and git ends.
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
      onOutput: () => {},
      ended: false,
    }
    alive.add(child)
    git.stdout.on('data', (chunk: Buffer) => {
      // The process is about to be ended because it printed too much; collecting more would cost more time than git
      // takes.
      if (child.ended || child.rest.length > answerBytesMax) return
      child.rest = child.rest.length > 0 ? Buffer.concat([child.rest, chunk]) : chunk
      child.onOutput()
    })
    void git.ended.then(async () => {
      child.ended = true
      clearTimeout(child.idle)
      child.onOutput()
      // A folder that cannot be removed now is swept after this process has ended.
      if (scratch !== null) await removeScratch(scratch).catch(sweptLater)
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

/** sweepScratch() removes the folder once this process has ended. */
function sweptLater(): void {}

async function end(child: Child): Promise<void> {
  child.git.stdin.end()
  await child.git.ended
  if (child.scratch !== null) await removeScratch(child.scratch).catch(sweptLater)
}

async function talkInTurn<T>(key: string, child: Child, { args }: PooledGitKind, talk: Talk<T>): Promise<T | null> {
  const observed = child.ended ? null : observeProcess(args, 'local', true)
  const leave = child.ended ? null : await enterLane('local', { key }).catch(() => null)
  if (leave === null) {
    observed?.ended({ failure: 'busy', code: null })
    return null
  }
  const since = performance.now()
  let failure: string | null = null
  child.asked++
  observed?.started()
  try {
    const answer = await talk((question, read) => ask(child, question, read), join(child.scratch ?? '', 'objects'))
    // The folder is removed with the process, perhaps before the caller had taken everything from it.
    return child.ended ? null : answer
  } catch {
    // After an error the answers of this process can no longer be matched, so a separate git finds out what is wrong.
    if (performance.now() - since >= answerMsMax) slow.set(key, true)
    failure = 'no_answer'
    child.git.kill('aborted')
    child.ended = true
    return null
  } finally {
    observed?.ended({ failure, code: null })
    leave()
    waitIdly(key, child)
  }
}

function ask<T>(child: Child, question: string | Buffer, read: ReadAnswer<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => finish(() => reject(new Error('no answer in time'))), answerMsMax)
    const finish = (settle: () => void) => {
      clearTimeout(timer)
      child.onOutput = () => {}
      settle()
    }
    child.onOutput = () => {
      if (child.ended) return finish(() => reject(new Error('git ended')))
      if (child.rest.length > answerBytesMax) return finish(() => reject(new Error('git printed too much')))
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
