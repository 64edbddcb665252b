import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isBranchName } from './branch-name.ts'
import { readDiskRefs } from './disk-refs.ts'
import { untilDeadline } from '../process/deadline.ts'
import { git, GitError } from '../process/git.ts'
import { hostMessages } from '../remote/host-messages.ts'
import { LiveFlights } from './single-flight.ts'
import { lsRefsHttp, type RemoteRefs } from './ls-refs.ts'
import { isSha, type CallOptions, type Remote, type Repository, type Sha } from '../repository.ts'

export type TipsOutcome =
  /**
   * `tips` has only existing branches; `head` is the branch of HEAD, which an empty repository has too. `aliases` are
   * symbolic refs: a write to one goes to its target branch.
   */
  | { kind: 'tips'; tips: Map<string, Sha>; aliases: Map<string, string>; head: string | null }
  | { kind: 'unreachable'; reason: string }

/** Time limit for a question to a host when the caller sets none. */
const flightMs = 8_000

interface Question {
  repo: Repository
  branches: string[] | 'all'
}

const flightsOf = (ask: (question: Question) => Promise<TipsOutcome>, options: { isDear?: boolean } = {}) =>
  new LiveFlights(
    ask,
    (one, other) => ({ repo: other.repo, branches: joinBranches(one.branches, other.branches) }),
    options,
  )

const flights = flightsOf(({ repo, branches }) => askRemote(repo, branches), { isDear: true })

/** Reading the disk is fast, but fifty readers of one repository would open the same files fifty times. */
const localFlights = flightsOf(({ repo, branches }) => readLocal(repo.dir, branches))

/** The current tips of branches, never older than the call, whatever the number of callers. Fetches nothing. */
export async function readTips(
  repo: Repository,
  branches: string[] | 'all',
  options: CallOptions = {},
): Promise<TipsOutcome> {
  options.signal?.throwIfAborted()
  // The question continues for the other callers; only this caller stops waiting.
  const answer = await untilDeadline<TipsOutcome>(askTogether(repo, branches), options, (ms) => ({
    kind: 'unreachable',
    reason: `The repository gave no answer within ${ms} ms.`,
  }))
  return answer.kind === 'tips' ? { ...answer, tips: pick(answer.tips, branches) } : answer
}

async function askTogether(repo: Repository, branches: string[] | 'all'): Promise<TipsOutcome> {
  const { remote } = repo
  if (!remote) return localFlights.ask(repo.dir, { repo, branches })
  const disk = await readFileRemote(remote, branches)
  if (disk) return disk
  const legal = branches === 'all' ? branches : branches.filter(isBranchName)
  return flights.ask(`${repo.dir}\0${remote.url}`, { repo, branches: legal })
}

/** Reads a local repository's refs from disk, or with git when its layout is unusual. */
async function readLocal(dir: string, branches: string[] | 'all'): Promise<TipsOutcome> {
  const refs = await readDiskRefs(dir, branches)
  if (refs) return { kind: 'tips', ...refs }
  const found = await stat(dir).catch(() => null)
  if (!found) return { kind: 'unreachable', reason: 'The folder of the repository is gone.' }
  const listed = await git(dir, ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads'])
  const symbolic = await git(dir, ['for-each-ref', '--format=ref: %(symref)%09%(refname)', 'refs/heads'])
  // 1: HEAD is detached.
  const head = await git(dir, ['symbolic-ref', '--quiet', 'HEAD'], { accept: [0, 1] })
  const tips = pick(parseListing(listed.stdout.toString(), ' '), branches)
  const aliases = parseAliases(symbolic.stdout.toString())
  return { kind: 'tips', tips, aliases, head: branchOfRef(head.stdout.toString().trim()) }
}

async function readFileRemote(
  remote: Remote,
  branches: string[] | 'all',
): Promise<(TipsOutcome & { kind: 'tips' }) | null> {
  const dir = await localGitDir(remote)
  const refs = dir ? await readDiskRefs(dir, branches) : null
  return refs ? { kind: 'tips', ...refs } : null
}

/** The git folder of a file remote, found in git's own order; null when only git can tell. */
export async function localGitDir(remote: Remote): Promise<string | null> {
  if (!remote.allowProtocols.includes('file')) return null
  const path = remotePath(remote.url)
  if (!path) return null
  for (const dir of [join(path, '.git'), path, join(`${path}.git`, '.git'), `${path}.git`]) {
    const parts = await Promise.all(['HEAD', 'objects', 'refs'].map((part) => stat(join(dir, part)).catch(() => null)))
    if (parts.every(Boolean)) return dir
  }
  return null
}

function remotePath(url: string): string | null {
  if (url.startsWith('/')) return url
  return url.startsWith('file:///') ? fileURLToPath(url) : null
}

async function askRemote(repo: Repository, branches: string[] | 'all'): Promise<TipsOutcome> {
  const remote = repo.remote as Remote
  const refs = await readRemoteRefs(remote, branches, flightMs)
  if (refs.kind === 'tips') return refs
  return {
    kind: 'unreachable',
    reason: refs.kind === 'unreachable' ? refs.reason : 'The git host changed its protocol during the request.',
  }
}

/** Asks the host without sharing. */
export async function readRemoteRefs(
  remote: Remote,
  branches: string[] | 'all',
  timeoutMs: number,
): Promise<RemoteRefs> {
  const disk = await readFileRemote(remote, branches)
  if (disk) return disk
  if (/^https?:/.test(remote.url)) {
    const refs = await lsRefsHttp(remote, branches, timeoutMs)
    if (refs.kind !== 'older-protocol') return refs
  }
  return lsRemote(remote, timeoutMs)
}

/** For hosts without protocol v2, and for ssh. */
async function lsRemote(remote: Remote, timeoutMs: number): Promise<RemoteRefs> {
  const silentSeconds = Math.max(1, Math.floor(timeoutMs / 5000))
  try {
    const args = ['ls-remote', '--symref', '--', remote.url, 'HEAD', 'refs/heads/*']
    const { stdout } = await git(null, args, { remote, timeoutMs, silentSeconds, lane: 'network' })
    const text = stdout.toString()
    const head = /^ref: refs\/heads\/(.+)\tHEAD$/m.exec(text)?.[1] ?? null
    return { kind: 'tips', tips: parseListing(text, '\t'), aliases: parseAliases(text), head }
  } catch (error) {
    if (!(error instanceof GitError) || error.failure === 'busy') throw error
    const reason =
      error.failure === 'timeout' ? 'The git host gave no answer in time.' : hostMessages(error.stderr, remote)
    return { kind: 'unreachable', reason, status: null }
  }
}

function parseListing(text: string, separator: string): Map<string, Sha> {
  const tips = new Map<string, Sha>()
  for (const line of text.split('\n')) {
    const at = line.indexOf(separator)
    const branch = branchOfRef(line.slice(at + 1))
    if (branch && isSha(line.slice(0, at))) tips.set(branch, line.slice(0, at))
  }
  return tips
}

function parseAliases(text: string): Map<string, string> {
  const found = text.matchAll(/^ref: refs\/heads\/(.+)\trefs\/heads\/(.+)$/gm)
  return new Map([...found].map(([, target = '', branch = '']) => [branch, target]))
}

function branchOfRef(ref: string): string | null {
  return ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : null
}

function joinBranches(one: string[] | 'all', other: string[] | 'all'): string[] | 'all' {
  return one === 'all' || other === 'all' ? 'all' : [...new Set([...one, ...other])]
}

function pick(tips: Map<string, Sha>, branches: string[] | 'all'): Map<string, Sha> {
  if (branches === 'all') return tips
  return new Map(branches.flatMap((branch) => (tips.has(branch) ? [[branch, tips.get(branch) as Sha]] : [])))
}
