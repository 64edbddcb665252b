import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git, GitError } from './git.ts'
import { hostWords } from './host-words.ts'
import {
  guarded,
  requireSha,
  isZero,
  type CallOptions,
  type RefUpdate,
  type Remote,
  withheldText,
} from './repository.ts'
import { isRefName } from './branch-name.ts'
import { objectFormat } from './object-format.ts'
import { makeRoom, withScratch } from './scratch.ts'

export type RefPush =
  /** `unchanged`: it pointed there already. */
  | { kind: 'done'; unchanged: boolean }
  /** The ref was not where the update says it was; trying again from its new place may work. */
  | { kind: 'stale' }
  /** What was sent did not arrive whole (`isOurs`: it did not leave whole), or could not be stored there. Nothing moved, and later it may work. */
  | { kind: 'failed'; reason: string; isOurs: boolean }
  /** `isProtected`: by a rule or a hook of the host, which may let the same in by another way. */
  | { kind: 'rejected'; reason: string; isProtected?: true }

export type PushOutcome =
  | { kind: 'answered'; refs: Map<string, RefPush>; remarks: string[] }
  /** Nothing was sent: no connection, or the host does not let us in. */
  | { kind: 'not-sent'; reason: string; denied: boolean }
  /** The connection ended before the host said what it did. */
  | { kind: 'unknown'; reason: string }

/** Phrases by which git and hosts say that the ref moved. Everything else that is rejected is rejected for good. */
const movedPhrases =
  /stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref|failed to lock|incorrect old value|reference already exists|already exists/i

/** Pushes exactly these updates, each under a lease on the old id. */
export async function pushRefs(
  gitDir: string,
  remote: Remote,
  updates: RefUpdate[],
  options: CallOptions & { atomic?: boolean } = {},
): Promise<PushOutcome> {
  for (const { ref } of updates)
    if (!isRefName(ref)) throw new TypeError(`Not a full ref name: ${JSON.stringify(ref.slice(0, 200))}`)
  // A lease on nothing (an empty id) means: the ref must not exist. A plain push would also win over a rewound base.
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
    // 1: the host answered, and at least one ref was refused.
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

/** git's helper for HTTP spells the pattern out again before it asks. */
function refusedForNamesake(updates: RefUpdate[]): PushOutcome {
  const refs = updates.map(({ ref }): [string, RefPush] => {
    const reason = `The host has a branch that is itself called ${ref}, and git cannot tell the two apart. Rename that branch on the host.`
    return [ref, { kind: 'rejected', reason }]
  })
  return { kind: 'answered', refs: new Map(refs), remarks: [] }
}

/**
 * Where a host has a branch that is called `refs/heads/main`, git takes the full name of the branch `main` for both and
 * pushes to neither. A pattern it takes at its word: so the push comes from a repository that borrows our objects and
 * has nothing but these refs, below a prefix that the pattern cuts off.
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

interface Said {
  stdout: string
  stderr: string
}

function readReport(remote: Remote, { stdout, stderr }: Said, updates: RefUpdate[]): PushOutcome {
  const refs = new Map<string, RefPush>()
  const remarks = remoteLines(remote, stderr)
  for (const line of stdout.split('\n')) {
    // `<flag>\t<from>:<to>\t<summary> (<reason>)`
    const [flag = '', names = '', summary = ''] = line.split('\t')
    const ref = updates.find((update) => names.endsWith(`:${update.ref}`))?.ref
    if (!ref || flag.length !== 1) continue
    // The host went away, or its half of the push died, after it was given everything.
    if (/\(remote failed to report status\)/.test(summary))
      return { kind: 'unknown', reason: hostWords(stderr, remote) }
    refs.set(
      ref,
      flag === '!' ? refusal(remote, { summary, stderr, remarks }) : { kind: 'done', unchanged: flag === '=' },
    )
  }
  if (updates.some(({ ref }) => !refs.has(ref))) {
    // Over HTTP the host never answers to half a pack; it cannot have taken it either.
    if (ownLoss.test(stderr)) {
      const failed: RefPush = { kind: 'failed', reason: notPacked(remote, stderr), isOurs: true }
      return { kind: 'answered', refs: new Map(updates.map(({ ref }) => [ref, failed])), remarks }
    }
    return /unexpected disconnect|RPC failed|hung up/i.test(stderr)
      ? { kind: 'unknown', reason: hostWords(stderr, remote) }
      : { kind: 'not-sent', reason: hostWords(stderr, remote), denied: true }
  }
  return { kind: 'answered', refs, remarks }
}

/** The host did not get a whole pack out of what it was sent, or found that its own store has not all the pack builds on. */
const notStored = /unpacker error|missing necessary objects/
/** What it says when it got the pack whole and does not want what is in it. Sent again, it is refused again. */
const unwanted = /fsck error|exceeds maximum allowed size/i
/**
 * The summary of a push that a rule or hook of the host refused; git has no other sign of it. GitHub: "protected branch
 * hook declined", "push declined due to repository rule violations"; GitLab, Gitea and plain hooks: "pre-receive hook
 * declined", "hook declined"; Azure: TF402455; Gerrit: "prohibited by Gerrit".
 */
const byRule = /hook declined|rule violations|protected branch|TF402455|prohibited by Gerrit/i
/** GitHub's codes for a file that is too large and for a secret: a pull request has the same files. */
const ofContent = /\bGH001\b|\bGH009\b/
/** Our own half of the push broke down: objects it was to send were moved from one pack into another under its hands. */
const ownFailure = /eof before pack header|pack-objects died|^fatal: /m
const ownLoss =
  /^(?:error|fatal): (?:unable to read |bad (?:tree )?object|(?:loose|packed) object |packfile |missing |inflate|unable to unpack )/m

function notPacked(remote: Remote, stderr: string): string {
  const words = ownLoss.exec(stderr) ? stderr.slice(stderr.search(ownLoss)).split('\n')[0] : undefined
  return `What was to be pushed could not be packed: ${hostWords(words ?? stderr, remote)}`
}

const checkedOutReason =
  'The branch is checked out in the work tree of the repository, and git refuses pushes to it. There, run `git config receive.denyCurrentBranch updateInstead`, or give the project a bare clone.'

/**
 * Everything else that keeps a host from storing a pack is trouble of the moment, on its machine or on ours: no space,
 * no memory, a helper that was killed. To call that a refusal would tell people to change what is right as it is.
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

/** Why the host could not take the pack, where it says so. */
function unpackFailure(stderr: string): string[] {
  const why = /^error: (?:remote )?unpack failed: ([^\n]+)$/m.exec(stderr)?.[1]
  return why === undefined ? [] : [why]
}

/** What the host's hooks said. */
function remoteLines(remote: Remote, stderr: string): string[] {
  if (guarded(remote, stderr) === withheldText) return [withheldText]
  const lines = stderr.split('\n').filter((line) => line.startsWith('remote: '))
  return lines.map((line) => line.slice('remote: '.length).trim()).filter(Boolean)
}

function explainFailure(remote: Remote, error: GitError): PushOutcome {
  if (error.failure === 'busy') return { kind: 'not-sent', reason: error.message, denied: false }
  if (error.failure !== 'exit') return { kind: 'unknown', reason: error.message }
  const { stderr } = error
  const reason = hostWords(stderr, remote)
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
