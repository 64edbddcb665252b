import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { setPriority } from 'node:os'
import { PassThrough, pipeline, type Readable, type Writable } from 'node:stream'
import { enterLane, type Lane, LaneBusy } from './child-queue.ts'
import { childEnvironment, type EnvironmentInput } from './environment.ts'
import { splitLines } from './fetch-progress.ts'
import { limitingPrefix, type Limits } from './limits.ts'
import { repositoryOfScratch } from './scratch.ts'
import { openSshFiles, type SshFiles } from './ssh.ts'

/** The only file that starts git. */

export interface GitOptions extends EnvironmentInput {
  /** Exit codes that are answers. Anything else throws. Default: only 0. */
  accept?: number[]
  input?: string | Uint8Array
  cwd?: string
  signal?: AbortSignal
  timeoutMs?: number
  /** Output past this kills the child. */
  bytesMax?: number
  /** What past `bytesMax` means: an error, or an answer that is cut there. */
  overflow?: 'fail' | 'cut'
  lane?: Lane
  /** The group of the repository in its lane: see child-queue.ts. Every child of a repository in that lane names it. */
  group?: string | undefined
  /** The output is listened to in the same moment and never paused: it need not be held for whoever comes later. */
  readAtOnce?: boolean
  limits?: Partial<Limits>
  /** Runs at the priority of the server although its lane gives way: a request waits for it. */
  isUrgent?: boolean
  /** Called with each line of stderr. Lines it returns true for are no part of the error text. */
  takeLine?: (line: string) => boolean
}

export interface GitResult {
  code: number
  stdout: Buffer
  stderr: string
  /** True when the output was cut at `bytesMax`; `code` means nothing then. */
  cut: boolean
}

/** `limit` is one of ours; `killed` came from outside, and says nothing about what was asked. `busy`: its lane takes no more waiters. */
export type GitFailure = 'exit' | 'timeout' | 'aborted' | 'output' | 'limit' | 'killed' | 'start' | 'busy'

export class GitError extends Error {
  readonly failure: GitFailure
  readonly code: number | null
  readonly stderr: string
  constructor(
    failure: GitFailure,
    message: string,
    details: { code?: number | null; stderr?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause })
    this.name = 'GitError'
    this.failure = failure
    this.code = details.code ?? null
    this.stderr = details.stderr ?? ''
  }
}

const gibibyte = 1024 ** 3
/**
 * Fifteen crafted objects can keep `git diff` busy for ever, so every child has limits. Memory is the data segment:
 * packs are mapped read-only and do not count. Children that build or index whole packs need more of everything.
 */
const limitsOfLane: Record<Lane, Limits> = {
  local: { cpuSeconds: 8, memoryBytes: (3 * gibibyte) / 8, fileBytes: gibibyte },
  network: { cpuSeconds: 600, memoryBytes: 2 * gibibyte, fileBytes: 16 * gibibyte },
  serve: { cpuSeconds: 600, memoryBytes: 2 * gibibyte, fileBytes: 16 * gibibyte },
  push: { cpuSeconds: 600, memoryBytes: 2 * gibibyte, fileBytes: 16 * gibibyte },
  standing: { cpuSeconds: 8, memoryBytes: (3 * gibibyte) / 8, fileBytes: gibibyte },
}
const timeoutMsOfLane: Record<Lane, number> = {
  local: 30_000,
  network: 600_000,
  serve: 3_600_000,
  push: 3_600_000,
  standing: 600_000,
}
const bytesMaxDefault = 64 * 1024 * 1024
/** Quick answers come first: what moves whole packs gives way from its start, and what thinks long from then on. */
const giveWay = { niceness: 10, afterMs: 1_000 }
const stderrBytesMax = 64 * 1024
/** Between asking a group to end, so git removes its lock files, and ending it. */
const graceMs = 250

/** Runs git to its end. `dir` is the repository, or null for a command that needs none. */
export async function git(dir: string | null, args: string[], options: GitOptions = {}): Promise<GitResult> {
  const child = await openGit(dir, args, options)
  const bytesMax = options.bytesMax ?? bytesMaxDefault
  const chunks: Buffer[] = []
  let bytes = 0
  let cut = false
  child.stdin.end(options.input ?? '')
  child.stdout.on('data', (chunk: Buffer) => {
    if (cut) return
    const room = bytesMax - bytes
    chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
    bytes += Math.min(chunk.length, room)
    if (chunk.length <= room) return
    cut = true
    child.kill('output')
  })
  const end = await child.ended
  const stdout = Buffer.concat(chunks)
  if (cut && options.overflow === 'cut') return { code: 0, stdout, stderr: end.stderr, cut }
  const failure = explainEnd(args, end, options.accept ?? [0])
  if (failure) throw failure
  return { code: end.code ?? 0, stdout, stderr: end.stderr, cut }
}

/** The trimmed output of a command whose answer is one short line. */
export async function gitLine(dir: string, args: string[], options: GitOptions = {}): Promise<string> {
  return (await git(dir, args, options)).stdout.toString().trim()
}

export interface GitEnd {
  code: number | null
  signal: string | null
  stderr: string
  /** Why we ended it, when we did. */
  killedFor: GitFailure | null
}

export interface GitChild {
  stdin: Writable
  stdout: Readable
  /** Resolves once the whole process group is gone and its output was read. Never rejects. */
  ended: Promise<GitEnd>
  kill(why: GitFailure): void
  /** From now on our own process may end while this child still runs. */
  background(): void
}

/** Starts git with open pipes, for streaming. Waits for a place in its lane first. */
export async function startGit(dir: string | null, args: string[], options: GitOptions = {}): Promise<GitChild> {
  const child = await openGit(dir, args, options)
  if (options.readAtOnce) return child
  // Bun throws away what a child said and nobody has begun to read when it ends, and a slow reader of some hundred
  // kilobytes then takes nothing for all there was. So the pipe is read from the first moment on, as far as this holds.
  const held = new PassThrough({ highWaterMark: heldBytesMax })
  held.on('error', () => {})
  pipeline(child.stdout, held, () => {})
  return { ...child, stdout: held }
}

const heldBytesMax = 128 * 1024

async function openGit(dir: string | null, args: string[], options: GitOptions): Promise<GitChild> {
  const lane = options.lane ?? 'local'
  const place = { key: keyInLane(dir, options), group: options.group }
  const leave = await enterLane(lane, place, options.signal).catch((cause: unknown) => {
    const aborted = options.signal?.aborted ?? false
    if (!aborted && cause instanceof LaneBusy) throw new GitError('busy', cause.message, { cause })
    const why = aborted ? 'was given up before it started.' : `could not start: ${(cause as Error).message}`
    throw new GitError(aborted ? 'aborted' : 'start', `git ${args[0] ?? ''} ${why}`, { cause })
  })
  let sshFiles: SshFiles | null = null
  const tidyUp = () => {
    sshFiles?.close()
    leave()
  }
  try {
    sshFiles = options.remote?.ssh ? openSshFiles(options.remote.ssh) : null
    return superviseChild(spawnGroup(dir, args, options, lane, sshFiles), options, lane, tidyUp)
  } catch (cause) {
    tidyUp()
    throw new GitError('start', `git could not be started: ${(cause as Error).message}`, { cause })
  }
}

/** A remote's host decides how slow a child is, so it is the key. Without a host the key is the repository. */
function keyInLane(dir: string | null, { remote }: GitOptions): string {
  const host = remote && URL.canParse(remote.url) ? new URL(remote.url).hostname : ''
  return host || repositoryOfScratch(dir ?? '')
}

function spawnGroup(
  dir: string | null,
  args: string[],
  options: GitOptions,
  lane: Lane,
  sshFiles: SshFiles | null,
): ChildProcess {
  const limits = { ...limitsOfLane[lane], ...options.limits }
  const command = [...limitingPrefix(limits), findGit(), ...(dir === null ? [] : [`--git-dir=${dir}`]), ...args]
  const [program = 'git', ...rest] = command
  return spawn(program, rest, {
    // Never the server's own folder: git would look for a repository around it.
    cwd: options.cwd ?? dir ?? '/',
    env: childEnvironment(options, sshFiles),
    // A group of its own: killing git alone leaves its helpers running.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

function superviseChild(child: ChildProcess, options: GitOptions, lane: Lane, leave: () => void): GitChild {
  const { stdin, stdout, stderr } = child
  if (!stdin || !stdout || !stderr) throw new Error('the pipes to git could not be opened.')
  let errorText = Buffer.alloc(0)
  let killedFor: GitFailure | null = null
  let hardKill: ReturnType<typeof setTimeout> | undefined

  const kill = (why: GitFailure) => {
    if (killedFor) return
    killedFor = why
    signalGroup(child, 'SIGTERM')
    hardKill = setTimeout(() => {
      signalGroup(child, 'SIGKILL')
      // Whoever survived that cannot hold the caller by keeping a pipe open.
      stdout.destroy()
      stderr.destroy()
    }, graceMs)
  }
  const onAbort = () => kill('aborted')
  const timer = setTimeout(() => kill('timeout'), options.timeoutMs ?? timeoutMsOfLane[lane])
  const patience = lane === 'local' ? setTimeout(() => stepBack(child), giveWay.afterMs) : null
  // Before git starts helpers of its own, which inherit it. What stands by is asked quick questions only.
  if (options.isUrgent !== true && (lane === 'network' || lane === 'serve' || lane === 'push')) stepBack(child)
  if (options.signal?.aborted) onAbort()
  options.signal?.addEventListener('abort', onAbort, { once: true })

  // git may stop reading early, and says by its exit code whether that was right.
  stdin.on('error', () => {})
  stdout.on('error', () => {})
  const keep = (chunk: Buffer) => {
    errorText = Buffer.concat([errorText, chunk])
    if (errorText.length > stderrBytesMax) errorText = errorText.subarray(-stderrBytesMax)
  }
  const lines = options.takeLine && splitLines(options.takeLine, (line) => keep(Buffer.from(line)))
  stderr.on('data', (chunk: Buffer) => (lines === undefined ? keep(chunk) : lines.write(chunk)))

  const ended = new Promise<GitEnd>((resolve) => {
    let startError: Error | null = null
    const finish = (code: number | null, signal: string | null) => {
      clearTimeout(timer)
      clearTimeout(hardKill)
      if (patience !== null) clearTimeout(patience)
      options.signal?.removeEventListener('abort', onAbort)
      if (killedFor) signalGroup(child, 'SIGKILL')
      lines?.end()
      leave()
      const text = startError ? startError.message : errorText.toString('utf8')
      resolve({ code, signal, stderr: text, killedFor: startError ? 'start' : killedFor })
    }
    child.on('error', (error) => {
      startError = error
      finish(null, null)
    })
    child.on('close', finish)
  })
  const background = () => {
    timer.unref()
    child.unref()
    for (const pipe of [stdin, stdout, stderr]) (pipe as Partial<Socket>).unref?.()
  }
  return { stdin, stdout, ended, kill, background }
}

function stepBack(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    setPriority(child.pid, giveWay.niceness)
  } catch {
    // ESRCH: it is gone already. EACCES: this server runs at a lower priority than that itself.
  }
}

function signalGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // ESRCH: the whole group is gone already, which is what was wanted.
  }
}

/** The error of a child that did not end with an accepted code; null when it did. */
export function explainEnd(args: string[], end: GitEnd, accept: number[]): GitError | null {
  const name = `git ${args.find((arg) => !arg.startsWith('-')) ?? ''}`.trim()
  const details = { code: end.code, stderr: end.stderr }
  if (end.killedFor === 'start') return new GitError('start', `${name} could not be started: ${end.stderr}`, details)
  if (end.killedFor === 'timeout') return new GitError('timeout', `${name} took too long and was stopped.`, details)
  if (end.killedFor === 'aborted') return new GitError('aborted', `${name} was given up by its caller.`, details)
  if (end.killedFor === 'output')
    return new GitError('output', `${name} answered more than it may and was stopped.`, details)
  // SIGSEGV: git goes down into folders by calling itself, and tens of thousands of them are more than its stack holds.
  if (['SIGXCPU', 'SIGXFSZ', 'SIGSEGV'].includes(end.signal ?? '')) {
    return new GitError('limit', `${name} needed more than its limit of time, memory or disk (${end.signal}).`, details)
  }
  if (end.signal === 'SIGKILL' || end.signal === 'SIGTERM' || end.signal === 'SIGINT' || end.signal === 'SIGHUP')
    return new GitError('killed', `${name} was ended from outside (${end.signal}).`, details)
  if (end.code !== null && accept.includes(end.code)) return null
  if (/out of memory|unable to create thread/i.test(end.stderr)) {
    return new GitError('limit', `${name} needed more memory than it may have.`, details)
  }
  return new GitError(
    'exit',
    `${name} failed (${end.signal ?? `exit code ${end.code}`}): ${lastWords(end.stderr)}`,
    details,
  )
}

/** What git said last, in one line that fits into an answer. A host's own words are among it: nothing in them moves a cursor or turns text around. */
export function lastWords(stderr: string): string {
  const lines = stderr
    .replaceAll(/[^\P{Cc}\n]|[\p{Cf}\p{Cs}]/gu, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('hint:'))
  const telling = lines.filter((line) => /^(fatal|error|remote):/i.test(line))
  return (telling.length ? telling : lines).slice(-3).join(' ').trim().slice(0, 1000) || 'it gave no reason.'
}

let gitProgram: string | null = null

function findGit(): string {
  gitProgram ??= Bun.which('git') ?? 'git'
  return gitProgram
}
