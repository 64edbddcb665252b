import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { git, GitError } from '../process/git.ts'
import { hostMessages } from '../remote/host-messages.ts'
import { askHttp } from '../remote/http-client.ts'
import { describeNetworkError, refusedBy, type RemoteRefs } from '../refs/ls-refs.ts'
import type { CallOptions, Remote } from '../repository.ts'
import { withScratch } from '../process/scratch.ts'
import { localGitDir, readRemoteRefs } from '../refs/tips.ts'

export interface ProbeOutcome {
  kind: 'writable' | 'readable' | 'unreachable' | 'unauthorized'
  /** Why it is not writable, as a sentence. */
  reason: string | null
  defaultBranch: string | null
  empty: boolean
}

const probeMs = 15_000

/** Finds out what a remote permits, without changing it. */
export async function probeRemote(remote: Remote, options: CallOptions = {}): Promise<ProbeOutcome> {
  const timeoutMs = options.timeoutMs ?? probeMs
  const [refs, noWrite] = await Promise.all([
    readRemoteRefs(remote, 'all', timeoutMs),
    whyNotWritable(remote, timeoutMs),
  ])
  if (refs.kind !== 'tips') return closedOutcome(refs)
  const defaultBranch = refs.head
  const empty = refs.tips.size === 0
  return { kind: noWrite === null ? 'writable' : 'readable', reason: noWrite, defaultBranch, empty }
}

function closedOutcome(refs: RemoteRefs): ProbeOutcome {
  const reason = refs.kind === 'unreachable' ? refs.reason : 'The git host changed its protocol during the request.'
  const status = refs.kind === 'unreachable' ? refs.status : null
  // For ssh there is only git's message.
  const denied =
    status === 401 ||
    status === 403 ||
    /permission denied|authentication failed|could not read username|does not accept/i.test(reason)
  return { kind: denied ? 'unauthorized' : 'unreachable', reason, defaultBranch: null, empty: false }
}

/** null when pushing is allowed. */
async function whyNotWritable(remote: Remote, timeoutMs: number): Promise<string | null> {
  if (/^https?:/.test(remote.url)) return whyNotWritableHttp(remote, timeoutMs)
  const dir = await localGitDir(remote)
  return dir ? whyNotWritableDir(dir) : whyNotPushable(remote, timeoutMs)
}

/** Only users who may push get the greeting for a push. */
async function whyNotWritableHttp(remote: Remote, timeoutMs: number): Promise<string | null> {
  try {
    const path = 'info/refs?service=git-receive-pack'
    const answer = await askHttp(remote, { method: 'GET', path, headers: {}, timeoutMs, bytesMax: 64 * 1024 * 1024 })
    if (answer.status !== 200) return refusedBy(remote, answer).reason
    const isGreeting = answer.contentType.startsWith('application/x-git-receive-pack-advertisement')
    return isGreeting ? null : 'The git host does not take pushes at this address.'
  } catch (error) {
    return describeNetworkError(error)
  }
}

/**
 * The work tree of a local repository with `branch` checked out, where git refuses a push; null: git accepts the
 * push. A push would not update the files of the work tree.
 */
export async function checkedOutAt(remote: Remote, branch: string): Promise<string | null> {
  const dir = await localGitDir(remote)
  if (dir === null) return null
  const [listed, policy] = await Promise.all([
    git(dir, ['worktree', 'list', '--porcelain', '-z']),
    // 1: it is not set, and git refuses by default.
    git(dir, ['config', '--get', 'receive.denyCurrentBranch'], { accept: [0, 1] }),
  ])
  if (/^(?:updateInstead|warn|ignore|false|no|off|0)\n$/i.test(policy.stdout.toString())) return null
  const trees = listed.stdout.toString().split('\0\0')
  const found = trees.map((tree) => tree.split('\0')).find((lines) => lines.includes(`branch refs/heads/${branch}`))
  if (found === undefined || found.includes('bare')) return null
  return found.find((line) => line.startsWith('worktree '))?.slice('worktree '.length) ?? dir
}

async function whyNotWritableDir(dir: string): Promise<string | null> {
  try {
    await Promise.all(['objects', 'refs'].map((part) => access(join(dir, part), constants.W_OK)))
    return null
  } catch {
    return 'The service may not write into the folder of this repository.'
  }
}

/** ssh: a dry-run push of an empty commit to an unused name reaches receive-pack and ends there. */
async function whyNotPushable(remote: Remote, timeoutMs: number): Promise<string | null> {
  return withScratch(tmpdir(), async (dir) => {
    await git(null, ['init', '--quiet', '--bare', '--template=', '--', dir])
    const identity = { GIT_AUTHOR_NAME: 'svc', GIT_AUTHOR_EMAIL: 'noreply@svc.invalid', GIT_AUTHOR_DATE: '@0 +0000' }
    const env = {
      ...identity,
      GIT_COMMITTER_NAME: 'svc',
      GIT_COMMITTER_EMAIL: 'noreply@svc.invalid',
      GIT_COMMITTER_DATE: '@0 +0000',
    }
    const tree = (await git(dir, ['mktree'], { env })).stdout.toString().trim()
    const commit = (await git(dir, ['commit-tree', tree], { env, input: 'probe\n' })).stdout.toString().trim()
    try {
      const refspec = `${commit}:refs/heads/svc-probe-${commit.slice(0, 12)}`
      await git(dir, ['push', '--dry-run', '--porcelain', '--', remote.url, refspec], {
        remote,
        timeoutMs,
        lane: 'network',
      })
      return null
    } catch (error) {
      if (!(error instanceof GitError)) throw error
      return error.failure === 'timeout' ? 'The git host gave no answer in time.' : hostMessages(error.stderr, remote)
    }
  })
}
