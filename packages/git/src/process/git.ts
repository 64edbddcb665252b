import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { setPriority } from 'node:os'
import { PassThrough, pipeline, type Readable, type Writable } from 'node:stream'
import { enterLane, type Lane, LaneBusy } from './child-queue.ts'
import { childEnvironment, type EnvironmentInput } from './environment.ts'
import { splitLines } from './fetch-progress.ts'
import { limitingPrefix, type Limits } from './limits.ts'
import { commandOf, observeProcess } from './observe.ts'
import { afterRunning } from './running-time.ts'
import { repositoryOfScratch } from './scratch.ts'
import { openSshFiles, type SshFiles } from './ssh.ts'

/** The only file that starts git. */

export interface GitOptions extends EnvironmentInput {
  /** Exit codes that are valid answers; others throw. Default: only 0. */
  accept?: number[]
  input?: string | Uint8Array
  cwd?: string
  signal?: AbortSignal
  timeoutMs?: number
  /** More output than this ends the process. */
  bytesMax?: number
  /** Whether output beyond `bytesMax` is an error or is truncated. */
  overflow?: 'fail' | 'cut'
  /** Gets the output as it comes, instead of the caller, without a default limit; false is the end, as at a limit. */
  take?: (chunk: Buffer) => boolean | void
  lane?: Lane
  /** The repository's group in its lane: see child-queue.ts. Always the same for one repository. */
  group?: string | undefined
  /** The caller reads the output at once and never pauses, so it needs no buffer. */
  readAtOnce?: boolean
  limits?: Partial<Limits>
  /** Runs at the server's priority although its lane has a lower one: a request waits for it. */
  isUrgent?: boolean
  /** Called with each line of stderr. Lines for which it returns true are left out of the error text. */
  takeLine?: (line: string) => boolean
}

interface GitResult {
  code: number
  stdout: Buffer
  stderr: string
  /** True when the output was truncated at `bytesMax`; `code` has no meaning then. */
  cut: boolean
}

/** `limit`: one of our limits; `killed`: a signal from outside; `busy`: the lane accepts no more waiters. */
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
 * Fifteen crafted objects can keep `git diff` busy forever, so every process has limits. Memory is the data segment:
 * packs are mapped read-only and do not count. Processes that build or index whole packs need more of everything.
 */
const small: Limits = { cpuSeconds: 8, memoryBytes: (3 * gibibyte) / 8, fileBytes: gibibyte }
const large: Limits = { cpuSeconds: 600, memoryBytes: 2 * gibibyte, fileBytes: 16 * gibibyte }
const ofLane: Record<Lane, { limits: Limits; timeoutMs: number }> = {
  local: { limits: small, timeoutMs: 30_000 },
  network: { limits: large, timeoutMs: 600_000 },
  serve: { limits: large, timeoutMs: 3_600_000 },
  push: { limits: large, timeoutMs: 3_600_000 },
  standing: { limits: small, timeoutMs: 600_000 },
}
const bytesMaxDefault = 64 * 1024 * 1024
/** Processes that move whole packs run at a low priority from the start, others after a second. */
const giveWay = { niceness: 10, afterMs: 1_000 }
const stderrBytesMax = 64 * 1024
/** Time between SIGTERM, on which git removes its lock files, and SIGKILL. */
const graceMs = 250

/** Runs git to its end. `dir` is the repository, or null for a command that needs none. */
export async function git(dir: string | null, args: string[], options: GitOptions = {}): Promise<GitResult> {
  const child = await openGit(dir, args, options)
  const bytesMax = options.bytesMax ?? (options.take ? Infinity : bytesMaxDefault)
  const chunks: Buffer[] = []
  let bytes = 0
  let cut = false
  let thrown: { error: unknown } | null = null
  child.stdin.end(options.input ?? '')
  child.stdout.on('data', (chunk: Buffer) => {
    if (cut) return
    const part = chunk.subarray(0, bytesMax - bytes)
    bytes += part.length
    cut = part.length < chunk.length
    try {
      if (!options.take) chunks.push(part)
      else if (options.take(part) === false) cut = true
    } catch (error) {
      // Thrown below: nothing catches an exception of an event.
      thrown = { error }
      cut = true
    }
    if (cut) child.kill('output')
  })
  const end = await child.ended
  if (thrown) throw (thrown as { error: unknown }).error
  const stdout = Buffer.concat(chunks)
  if (cut && options.overflow === 'cut') return { code: 0, stdout, stderr: end.stderr, cut }
  const failure = explainEnd(args, end, options.accept ?? [0])
  if (failure) throw failure
  return { code: end.code ?? 0, stdout, stderr: end.stderr, cut }
}

/** The trimmed output of a command that prints one short line. */
export async function gitLine(dir: string, args: string[], options: GitOptions = {}): Promise<string> {
  return (await git(dir, args, options)).stdout.toString().trim()
}

/** The lines of a command's output, without empty ones. */
export async function gitLines(dir: string, args: string[], options: GitOptions = {}): Promise<string[]> {
  return (await git(dir, args, options)).stdout.toString().split('\n').filter(Boolean)
}

interface GitEnd {
  code: number | null
  signal: string | null
  stderr: string
  /** Why we ended it, if we did. */
  killedFor: GitFailure | null
}

export interface GitChild {
  stdin: Writable
  stdout: Readable
  /** Resolves once the whole process group has ended and its output was read. Never rejects. */
  ended: Promise<GitEnd>
  kill(why: GitFailure): void
  /** Lets the server's process exit while this one still runs. */
  background(): void
}

/** Starts git with open pipes, for streaming. Waits for a place in its lane first. */
export async function startGit(dir: string | null, args: string[], options: GitOptions = {}): Promise<GitChild> {
  const child = await openGit(dir, args, options)
  if (options.readAtOnce) return child
  // When a process ends, Bun drops output whose reading has not begun; a slow reader of some hundred kilobytes
  // would lose all of it. So this reads from the start, into a bounded buffer.
  const held = new PassThrough({ highWaterMark: heldBytesMax })
  held.on('error', reportedByExit)
  pipeline(child.stdout, held, reportedByExit)
  return { ...child, stdout: held }
}

const heldBytesMax = 128 * 1024

async function openGit(dir: string | null, args: string[], options: GitOptions): Promise<GitChild> {
  const lane = options.lane ?? 'local'
  const place = { key: keyInLane(dir, options), group: options.group }
  // A pooled process lives for minutes; its questions are observed instead.
  const observed = lane === 'standing' ? null : observeProcess(args, lane)
  const leave = await enterLane(lane, place, options.signal).catch((cause: unknown) => {
    const aborted = options.signal?.aborted ?? false
    observed?.ended({ failure: aborted ? 'aborted' : 'busy', code: null })
    if (!aborted && cause instanceof LaneBusy) throw new GitError('busy', cause.message, { cause })
    const why = aborted ? 'was aborted before it started.' : `could not start: ${(cause as Error).message}`
    throw new GitError(aborted ? 'aborted' : 'start', `git ${args[0] ?? ''} ${why}`, { cause })
  })
  let sshFiles: SshFiles | null = null
  const tidyUp = () => {
    sshFiles?.close()
    leave()
  }
  try {
    sshFiles = options.remote?.ssh ? openSshFiles(options.remote.ssh) : null
    observed?.started()
    const child = superviseChild(spawnGroup(dir, args, options, lane, sshFiles), options, lane, tidyUp)
    if (observed !== null)
      void child.ended.then((end) => observed.ended({ failure: failureOf(end, options.accept ?? [0]), code: end.code }))
    return child
  } catch (cause) {
    tidyUp()
    observed?.ended({ failure: 'start', code: null })
    throw new GitError('start', `git could not be started: ${(cause as Error).message}`, { cause })
  }
}

/** A remote's host determines how slow a process is, so the key is the host, or the repository when there is none. */
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
  const limits = { ...ofLane[lane].limits, ...options.limits }
  const command = [...limitingPrefix(limits), findGit(), ...(dir === null ? [] : [`--git-dir=${dir}`]), ...args]
  const [program = 'git', ...rest] = command
  return spawn(program, rest, {
    // Never the server's own folder, where git would look for a repository.
    cwd: options.cwd ?? dir ?? '/',
    env: childEnvironment(options, sshFiles),
    // In its own process group: killing only git leaves its helpers running.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

function superviseChild(child: ChildProcess, options: GitOptions, lane: Lane, leave: () => void): GitChild {
  const { stdin, stdout, stderr } = child
  if (!stdin || !stdout || !stderr) throw new Error('The pipes to git could not be opened.')
  let errorText = Buffer.alloc(0)
  let killedFor: GitFailure | null = null
  let hardKill: ReturnType<typeof setTimeout> | undefined

  const kill = (why: GitFailure) => {
    if (killedFor) return
    killedFor = why
    signalGroup(child, 'SIGTERM')
    hardKill = setTimeout(() => {
      signalGroup(child, 'SIGKILL')
      // A survivor cannot block the caller by keeping a pipe open.
      stdout.destroy()
      stderr.destroy()
    }, graceMs)
  }
  const onAbort = () => kill('aborted')
  const timer = afterRunning(options.timeoutMs ?? ofLane[lane].timeoutMs, () => kill('timeout'))
  const patience = lane === 'local' ? setTimeout(() => stepBack(child), giveWay.afterMs) : null
  // Before git starts helpers, which inherit the priority. Pooled processes answer only quick questions.
  if (options.isUrgent !== true && (lane === 'network' || lane === 'serve' || lane === 'push')) stepBack(child)
  if (options.signal?.aborted) onAbort()
  options.signal?.addEventListener('abort', onAbort, { once: true })

  // git may stop reading early; its exit code reports whether that was correct.
  stdin.on('error', reportedByExit)
  stdout.on('error', reportedByExit)
  const keep = (chunk: Buffer) => {
    errorText = Buffer.concat([errorText, chunk])
    if (errorText.length > stderrBytesMax) errorText = errorText.subarray(-stderrBytesMax)
  }
  const lines = options.takeLine && splitLines(options.takeLine, (line) => keep(Buffer.from(line)))
  stderr.on('data', (chunk: Buffer) => (lines === undefined ? keep(chunk) : lines.write(chunk)))

  const ended = new Promise<GitEnd>((resolve) => {
    let startError: Error | null = null
    const finish = (code: number | null, signal: string | null) => {
      timer.clear()
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

/** The exit code and stderr report what went wrong with a pipe. */
function reportedByExit(): void {}

function stepBack(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    setPriority(child.pid, giveWay.niceness)
  } catch {
    hasEndedOrStaysAsItIs()
  }
}

/** ESRCH: the process has already ended. EACCES: this server itself runs at a lower priority. */
function hasEndedOrStaysAsItIs(): void {}

function signalGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    groupHasEnded()
  }
}

function groupHasEnded(): void {}

/** For observers. A caller that had enough output ended it on purpose. */
function failureOf({ killedFor, signal, code }: GitEnd, accept: number[]): GitFailure | null {
  if (killedFor === 'output') return null
  if (killedFor !== null) return killedFor
  if (signal !== null) return 'killed'
  return code !== null && accept.includes(code) ? null : 'exit'
}

/** The error of a process that did not end with an accepted code; otherwise null. */
export function explainEnd(args: string[], end: GitEnd, accept: number[]): GitError | null {
  const name = `git ${commandOf(args)}`.trim()
  const details = { code: end.code, stderr: end.stderr }
  if (end.killedFor === 'start') return new GitError('start', `${name} could not be started: ${end.stderr}`, details)
  if (end.killedFor === 'timeout') return new GitError('timeout', `${name} took too long and was stopped.`, details)
  if (end.killedFor === 'aborted') return new GitError('aborted', `${name} was aborted by its caller.`, details)
  if (end.killedFor === 'output')
    return new GitError('output', `${name} printed more than its limit and was stopped.`, details)
  // SIGSEGV: git descends into folders recursively, and tens of thousands of levels overflow its stack.
  if (['SIGXCPU', 'SIGXFSZ', 'SIGSEGV'].includes(end.signal ?? '')) {
    return new GitError('limit', `${name} exceeded its limit of time, memory, or disk (${end.signal}).`, details)
  }
  if (end.signal === 'SIGKILL' || end.signal === 'SIGTERM' || end.signal === 'SIGINT' || end.signal === 'SIGHUP')
    return new GitError('killed', `${name} was killed from outside (${end.signal}).`, details)
  if (end.code !== null && accept.includes(end.code)) return null
  if (/out of memory|unable to create thread/i.test(end.stderr)) {
    return new GitError('limit', `${name} exceeded its memory limit.`, details)
  }
  return new GitError(
    'exit',
    `${name} failed (${end.signal ?? `exit code ${end.code}`}): ${lastMessage(end.stderr)}`,
    details,
  )
}

/** git's last messages in one line, without control characters: they may contain a host's text. */
export function lastMessage(stderr: string): string {
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
