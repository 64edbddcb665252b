import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git, GitError } from '../process/git.ts'
import { hostMessages } from '../remote/host-messages.ts'
import {
  guarded,
  requireSha,
  isZero,
  type CallOptions,
  type RefUpdate,
  type Remote,
  withheldText,
} from '../repository.ts'
import { isRefName } from '../refs/branch-name.ts'
import { objectFormat } from '../process/object-format.ts'
import { makeRoom, withScratch } from '../process/scratch.ts'

type RefPush =
  /** `unchanged`: the ref already had that value. */
  | { kind: 'done'; unchanged: boolean }
  /** The ref did not have its expected old value; a retry from its new value may work. */
  | { kind: 'stale' }
  /** The pack arrived incomplete (`isOurs`: was sent incomplete) or could not be stored. A retry may work. */
  | { kind: 'failed'; reason: string; isOurs: boolean }
  /** `isProtected`: refused by a rule or hook of the host, which may accept the change in another way. */
  | { kind: 'rejected'; reason: string; isProtected?: true }

export type PushOutcome =
  | { kind: 'answered'; refs: Map<string, RefPush>; remarks: string[] }
  /** Nothing was sent: no connection, or the host denied access. */
  | { kind: 'not-sent'; reason: string; denied: boolean }
  /** The connection ended before the host reported the result. */
  | { kind: 'unknown'; reason: string }

/** Phrases of git and hosts for a ref that moved. Every other rejection is final. */
const movedPhrases =
  /stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref|failed to lock|incorrect old value|reference already exists|already exists/i

/** Pushes exactly these updates, each with a lease on the old id. */
export async function pushRefs(
  gitDir: string,
  remote: Remote,
  updates: RefUpdate[],
  options: CallOptions & { atomic?: boolean } = {},
): Promise<PushOutcome> {
  for (const { ref } of updates)
    if (!isRefName(ref)) throw new TypeError(`Not a full ref name: ${JSON.stringify(ref.slice(0, 200))}`)
  // A lease with an empty id means that the ref must not exist. A plain push would also overwrite a rewound base.
  const leases = updates.map(
    ({ ref, oldSha }) => `--force-with-lease=${ref}:${isZero(requireSha(oldSha)) ? '' : oldSha}`,
  )
  const refspecs = updates.map(({ ref, newSha }) => `${isZero(requireSha(newSha)) ? '' : newSha}:${ref}`)
  const flags = [
    '--porcelain',
    '--no-verify',
    '--no-follow-tags',
    '--recurse-submodules=no',
    ...(options.atomic ? ['--atomic'] : []),
  ]
  const ask = (dir: string, specs: string[]) =>
    // 1: the host answered and refused at least one ref.
    git(dir, ['push', ...flags, ...leases, '--', remote.url, ...specs], {
      ...(options.signal ? { signal: options.signal } : {}),
      timeoutMs: options.timeoutMs ?? 300_000,
      remote,
      lane: 'network',
      accept: [0, 1],
    })
  try {
    let result = await ask(gitDir, refspecs)
    if (/^error: dst refspec .* matches more than one/m.test(result.stderr)) {
      if (/^https?:/.test(remote.url) || updates.some(({ newSha }) => isZero(newSha)))
        return refusedForNamesake(updates)
      result = await withNamesake(gitDir, updates, (room) => ask(room, ['refs/out/*:refs/*']))
    }
    return readReport(remote, { stdout: result.stdout.toString(), stderr: result.stderr }, updates)
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return explainFailure(remote, error)
  }
}

/** git's HTTP helper spells out the pattern again before it asks. */
function refusedForNamesake(updates: RefUpdate[]): PushOutcome {
  const refs = updates.map(({ ref }): [string, RefPush] => {
    const reason = `The host has a branch named ${ref}, which git cannot distinguish from the ref of that name. Rename that branch on the host.`
    return [ref, { kind: 'rejected', reason }]
  })
  return { kind: 'answered', refs: new Map(refs), remarks: [] }
}

/**
 * Where a host has a branch named `refs/heads/main`, git finds the full name of the branch `main` ambiguous and
 * pushes to neither. It takes a pattern literally, so the push comes from a repository that borrows our objects and
 * has only these refs, below a prefix that the pattern removes.
 */
async function withNamesake<T>(gitDir: string, updates: RefUpdate[], work: (room: string) => Promise<T>): Promise<T> {
  return withScratch(gitDir, async (room) => {
    await makeRoom(room, { borrowsFrom: gitDir, format: await objectFormat(gitDir) })
    const lines = updates.map(({ ref, newSha }) => `${newSha} ${ref.replace(/^refs\//, 'refs/out/')}\n`)
    await writeFile(join(room, 'packed-refs'), lines.join(''))
    await writeFile(join(room, 'HEAD'), 'ref: refs/heads/none\n')
    return work(room)
  })
}

function readReport(
  remote: Remote,
  { stdout, stderr }: { stdout: string; stderr: string },
  updates: RefUpdate[],
): PushOutcome {
  const refs = new Map<string, RefPush>()
  const remarks = remoteLines(remote, stderr)
  for (const line of stdout.split('\n')) {
    // Parses `<flag>\t<from>:<to>\t<summary> (<reason>)`.
    const [flag = '', names = '', summary = ''] = line.split('\t')
    const ref = updates.find((update) => names.endsWith(`:${update.ref}`))?.ref
    if (!ref || flag.length !== 1) continue
    // The host disconnected, or its push process died, after it received everything.
    if (/\(remote failed to report status\)/.test(summary))
      return { kind: 'unknown', reason: hostMessages(stderr, remote) }
    refs.set(
      ref,
      flag === '!' ? refusal(remote, { summary, stderr, remarks }) : { kind: 'done', unchanged: flag === '=' },
    )
  }
  if (updates.some(({ ref }) => !refs.has(ref))) {
    // Over HTTP a host never answers to a partial pack, and cannot have accepted one.
    if (ownLoss.test(stderr)) {
      const failed: RefPush = { kind: 'failed', reason: notPacked(remote, stderr), isOurs: true }
      return { kind: 'answered', refs: new Map(updates.map(({ ref }) => [ref, failed])), remarks }
    }
    return /unexpected disconnect|RPC failed|hung up/i.test(stderr)
      ? { kind: 'unknown', reason: hostMessages(stderr, remote) }
      : { kind: 'not-sent', reason: hostMessages(stderr, remote), denied: true }
  }
  return { kind: 'answered', refs, remarks }
}

/** The host did not receive a complete pack, or its own store lacks objects that the pack needs. */
const notStored = /unpacker error|missing necessary objects/
/** The host received the complete pack and refuses its content. A retry is refused too. */
const unwanted = /fsck error|exceeds maximum allowed size/i
/**
 * The summary of a push that a host's rule or hook refused; git has no other sign of it. GitHub: "protected branch
 * hook declined", "push declined due to repository rule violations"; GitLab, Gitea, and plain hooks: "pre-receive
 * hook declined", "hook declined"; Azure: TF402455; Gerrit: "prohibited by Gerrit".
 */
const byRule = /hook declined|rule violations|protected branch|TF402455|prohibited by Gerrit/i
/** GitHub's codes for a file that is too large and for a secret; a pull request would contain the same files. */
const ofContent = /\bGH001\b|\bGH009\b/
/** Our side of the push failed: a concurrent repack moved the objects it was reading. */
const ownFailure = /eof before pack header|pack-objects died|^fatal: /m
const ownLoss =
  /^(?:error|fatal): (?:unable to read |bad (?:tree )?object|(?:loose|packed) object |packfile |missing |inflate|unable to unpack )/m

function notPacked(remote: Remote, stderr: string): string {
  const words = ownLoss.exec(stderr) ? stderr.slice(stderr.search(ownLoss)).split('\n')[0] : undefined
  return `The commits to push could not be packed: ${hostMessages(words ?? stderr, remote)}`
}

const checkedOutReason =
  'The branch is checked out in the work tree of the repository, and git refuses pushes to it. There, run `git config receive.denyCurrentBranch updateInstead`, or give the project a bare clone.'

/**
 * Every other error that keeps a host from storing a pack is temporary, on its machine or ours: no space, no memory,
 * a killed helper. Reporting it as a refusal would make people change what is correct.
 */
function refusal(
  remote: Remote,
  { summary, stderr, remarks }: { summary: string; stderr: string; remarks: string[] },
): RefPush {
  if (movedPhrases.test(summary)) return { kind: 'stale' }
  if (/branch is currently checked out/.test(summary)) return { kind: 'rejected', reason: checkedOutReason }
  const inBrackets = /\(([^]*)\)\s*$/.exec(summary)?.[1] ?? summary
  const words = [...remarks, ...unpackFailure(stderr), inBrackets].join(' ')
  const why = remarks[0] === withheldText ? withheldText : guarded(remote, words).slice(0, 2000)
  if (!notStored.test(summary) || unwanted.test(stderr)) {
    const isProtected = byRule.test(summary) && !ofContent.test(stderr)
    return { kind: 'rejected', reason: why, ...(isProtected ? { isProtected } : {}) }
  }
  const isOurs = ownFailure.test(stderr)
  const reason = isOurs ? notPacked(remote, stderr) : `The git host could not store what was pushed: ${why}`
  return { kind: 'failed', reason, isOurs }
}

/** Why the host could not accept the pack, if it says so. */
function unpackFailure(stderr: string): string[] {
  const why = /^error: (?:remote )?unpack failed: ([^\n]+)$/m.exec(stderr)?.[1]
  return why === undefined ? [] : [why]
}

/** Output of the host's hooks. */
function remoteLines(remote: Remote, stderr: string): string[] {
  if (guarded(remote, stderr) === withheldText) return [withheldText]
  const lines = stderr.split('\n').filter((line) => line.startsWith('remote: '))
  return lines.map((line) => line.slice('remote: '.length).trim()).filter(Boolean)
}

function explainFailure(remote: Remote, error: GitError): PushOutcome {
  if (error.failure === 'busy') return { kind: 'not-sent', reason: error.message, denied: false }
  if (error.failure !== 'exit') return { kind: 'unknown', reason: error.message }
  const { stderr } = error
  const reason = hostMessages(stderr, remote)
  if (/RPC failed|unexpected disconnect|hung up|send-pack:|broken pipe/i.test(stderr))
    return { kind: 'unknown', reason }
  const denied =
    /returned error: 40[0134]|authentication failed|could not read username|permission denied|not found|access denied/i
  if (denied.test(stderr)) return { kind: 'not-sent', reason, denied: true }
  if (/unable to access|could not resolve|connection refused|failed to connect|timed out/i.test(stderr)) {
    return { kind: 'not-sent', reason, denied: false }
  }
  return { kind: 'unknown', reason }
}
