import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git, GitError } from './git.ts'
import { hostWords } from './host-words.ts'
import { requireSha, isZero, type CallOptions, type RefUpdate, type Remote } from './repository.ts'
import { isRefName } from './branch-name.ts'
import { objectFormat } from './object-format.ts'
import { makeRoom, withScratch } from './scratch.ts'

export type RefPush =
  /** `unchanged`: it pointed there already. */
  | { kind: 'done'; unchanged: boolean }
  /** The ref was not where the update says it was; trying again from its new place may work. */
  | { kind: 'stale' }
  | { kind: 'rejected'; reason: string }

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
    return readReport(result.stdout.toString(), result.stderr, updates)
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return explainFailure(error)
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

function readReport(stdout: string, stderr: string, updates: RefUpdate[]): PushOutcome {
  const refs = new Map<string, RefPush>()
  const remarks = remoteLines(stderr)
  for (const line of stdout.split('\n')) {
    // `<flag>\t<from>:<to>\t<summary> (<reason>)`
    const [flag = '', names = '', summary = ''] = line.split('\t')
    const ref = updates.find((update) => names.endsWith(`:${update.ref}`))?.ref
    if (!ref || flag.length !== 1) continue
    // Our own half of the push broke down; what the host says about what it got is of no interest then.
    if (flag === '!' && /unpacker error/.test(summary) && ownFailure.test(stderr))
      return { kind: 'unknown', reason: `What was to be pushed could not be packed: ${hostWords(stderr)}` }
    refs.set(
      ref,
      flag === '!'
        ? rejection(summary, [...remarks, ...unpackFailure(stderr)])
        : { kind: 'done', unchanged: flag === '=' },
    )
  }
  if (updates.some(({ ref }) => !refs.has(ref))) {
    return /unexpected disconnect|RPC failed|hung up/i.test(stderr)
      ? { kind: 'unknown', reason: hostWords(stderr) }
      : { kind: 'not-sent', reason: hostWords(stderr), denied: true }
  }
  return { kind: 'answered', refs, remarks }
}

const ownFailure = /pack-objects died|fatal: (?:unable to read|bad object|missing)|out of memory/i

/** Why the host could not take the pack, where it says so. */
function unpackFailure(stderr: string): string[] {
  const why = /^error: (?:remote )?unpack failed: ([^\n]+)$/m.exec(stderr)?.[1]
  return why === undefined ? [] : [why]
}

function rejection(summary: string, remarks: string[]): RefPush {
  if (movedPhrases.test(summary)) return { kind: 'stale' }
  const inBrackets = /\(([^]*)\)\s*$/.exec(summary)?.[1] ?? summary
  return { kind: 'rejected', reason: [...remarks, inBrackets].join(' ').slice(0, 2000) }
}

/** What the host's hooks said. */
function remoteLines(stderr: string): string[] {
  const lines = stderr.split('\n').filter((line) => line.startsWith('remote: '))
  return lines.map((line) => line.slice('remote: '.length).trim()).filter(Boolean)
}

function explainFailure(error: GitError): PushOutcome {
  if (error.failure !== 'exit') return { kind: 'unknown', reason: error.message }
  const { stderr } = error
  const reason = hostWords(stderr)
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
