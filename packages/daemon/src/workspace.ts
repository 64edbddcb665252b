/** The work tree: cloned at boot, brought forward on request. Everything here runs as the agent, never as the daemon. */
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

import { asAgent, type Finished, finish, lastLines, systemPath } from './child.ts'
import type { AgentIdentity, DaemonConfig, DaemonPaths } from './config.ts'
import { writeEnforcedConfig } from './runtime-config.ts'

export interface Workspace {
  /** Hands the folders to the agent and writes its git settings. */
  prepare(): void
  clone(): Promise<void>
  /** The agents and skills that sessions use are those of the default branch, whatever the session branch holds. */
  copyConfigDir(): Promise<void>
  refresh(): Promise<RefreshOutcome>
  /** In the pool: the work tree at that commit of the default branch, as a clone for a session cut there would leave it. */
  follow(commit: string, credential: string): Promise<void>
  /** The session branch as it is on the remote now; `null` when the tree is at its tip already. */
  claim(commit: string | null): Promise<void>
  commit(): Promise<string | null>
}

export type RefreshOutcome =
  | { kind: 'updated'; before: string; after: string }
  /** `reason` is git's own. */
  | { kind: 'not-fast-forward'; reason: string }
  | { kind: 'failed'; reason: string }

const cloneMs = 15 * 60_000
const shortMs = 60_000

export function createWorkspace(options: {
  config: DaemonConfig
  paths: DaemonPaths
  identity: AgentIdentity
  /** How git starts this program as its credential helper. */
  credentialHelper: string
}): Workspace {
  const { config, paths, identity } = options
  const branchRef = `refs/remotes/origin/${config.branch}`
  const defaultRef = `refs/remotes/origin/${config.defaultBranch}`

  const git = (args: string[], timeoutMs = shortMs, env: Record<string, string> = {}): Promise<Finished> =>
    finish(asAgent(identity, ['git', ...args]), {
      cwd: paths.workspace,
      env: { ...gitEnvironment(config, paths), ...env },
      timeoutMs,
    })

  async function need(args: string[], timeoutMs?: number, env?: Record<string, string>): Promise<string> {
    const done = await git(args, timeoutMs, env)
    if (done.code !== 0) throw new Error(`git ${args[0]} failed: ${lastLines(done.stderr) || `exit code ${done.code}`}`)
    return done.stdout.trim()
  }

  function prepare(): void {
    for (const folder of [paths.workspace, paths.home]) {
      mkdirSync(folder, { recursive: true })
      give(folder, identity)
    }
    mkdirSync(paths.runtimeDir, { recursive: true, mode: 0o755 })
    for (const name of ['config', 'git']) {
      const folder = join(paths.runtimeDir, name)
      mkdirSync(folder, { recursive: true, mode: 0o755 })
      if (name === 'config') give(folder, identity)
    }
    writeFileSync(join(paths.runtimeDir, 'git', 'config'), gitConfig(config, options.credentialHelper), { mode: 0o644 })
  }

  async function clone(): Promise<void> {
    // Not `git clone`: every session has a branch on that remote, and this one needs only its own and its base.
    await need(['init', '--quiet', `--initial-branch=${config.branch}`, '.'])
    await need(['remote', 'add', 'origin', config.repoUrl])
    const branches = [...new Set([config.branch, config.defaultBranch, config.baseRef])]
    const specs = branches.map((name) => `+refs/heads/${name}:refs/remotes/origin/${name}`)
    await need(['config', 'remote.origin.fetch', specs[0]!])
    const all = await git(['fetch', '--quiet', 'origin', ...specs], cloneMs)
    if (all.code === 0) {
      for (const spec of specs.slice(1)) await need(['config', '--add', 'remote.origin.fetch', spec])
    } else {
      // A base may be a commit, or be gone by now; the session's own branch must be there.
      await need(['fetch', '--quiet', 'origin', specs[0]!], cloneMs)
    }
    await need(['checkout', '--quiet', '-B', config.branch, '--track', `origin/${config.branch}`], cloneMs)
  }

  async function copyConfigDir(): Promise<void> {
    const target = join(paths.runtimeDir, 'config')
    const listed = await git(['ls-tree', '-d', '--name-only', defaultRef, '--', config.configDir])
    // No such branch or no such folder: there are no agents and skills, and that is a normal repository.
    const found = listed.code === 0 && listed.stdout.trim() !== ''
    const depth = config.configDir.split('/').filter(Boolean).length
    const script = found
      ? 'find "$1" -mindepth 1 -delete && git archive --format=tar "$2" -- "$3" | tar -x -C "$1" --strip-components="$4" --no-same-owner'
      : 'find "$1" -mindepth 1 -delete'
    const done = await finish(
      asAgent(identity, ['/bin/sh', '-c', script, 'copy-config', target, defaultRef, config.configDir, String(depth)]),
      { cwd: paths.workspace, env: gitEnvironment(config, paths), timeoutMs: shortMs },
    )
    if (done.code !== 0) throw new Error(`${config.configDir} could not be copied: ${lastLines(done.stderr)}`)
    writeEnforcedConfig(config, paths)
  }

  async function refresh(): Promise<RefreshOutcome> {
    const before = await need(['rev-parse', 'HEAD'])
    const fetched = await git(['fetch', '--quiet', 'origin'], cloneMs)
    if (fetched.code !== 0) return { kind: 'failed', reason: lastLines(fetched.stderr) }
    // 1 and 128: refused because of own commits, or because files that are not committed are in the way.
    const merged = await git(['merge', '--quiet', '--ff-only', branchRef])
    if (merged.code !== 0) return { kind: 'not-fast-forward', reason: lastLines(merged.stderr) }
    return { kind: 'updated', before, after: await need(['rev-parse', 'HEAD']) }
  }

  const specOf = (name: string) => `+refs/heads/${name}:refs/remotes/origin/${name}`

  async function initialise(): Promise<void> {
    await need(['init', '--quiet', `--initial-branch=${config.branch}`, '.'])
    await need(['remote', 'add', 'origin', config.repoUrl])
    for (const name of new Set([config.branch, config.defaultBranch]))
      await need(['config', '--add', 'remote.origin.fetch', specOf(name)])
  }

  async function follow(commit: string, credential: string): Promise<void> {
    if ((await git(['remote', 'get-url', 'origin'])).code !== 0) await initialise()
    // Not in an argument, which every process may read, and in no file.
    const header = `Authorization: Basic ${btoa(`x-access-token:${credential}`)}`
    const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'http.extraHeader', GIT_CONFIG_VALUE_0: header }
    await need(['fetch', '--quiet', 'origin', specOf(config.defaultBranch)], cloneMs, env)
    // The session branch will be cut here, so the tree can be on it before it exists.
    await need(['update-ref', branchRef, commit])
    await need(['checkout', '--quiet', '--force', '-B', config.branch, '--track', `origin/${config.branch}`], cloneMs)
  }

  async function claim(commit: string | null): Promise<void> {
    const hasOtherBase = config.baseRef !== config.defaultBranch
    if (hasOtherBase) await need(['config', '--add', 'remote.origin.fetch', specOf(config.baseRef)])
    if (commit === null && !hasOtherBase) return
    const branches = [...new Set([config.branch, config.defaultBranch, config.baseRef])]
    const all = await git(['fetch', '--quiet', 'origin', ...branches.map(specOf)], cloneMs)
    // A base may be a commit, or be gone by now; the session's own branch must be there.
    if (all.code !== 0) await need(['fetch', '--quiet', 'origin', specOf(config.branch)], cloneMs)
    await need(['reset', '--quiet', '--hard', branchRef], cloneMs)
  }

  return { prepare, clone, copyConfigDir, refresh, follow, claim, commit: () => readCommit(paths.workspace) }
}

/** Makes the folder the agent's own. */
export function give(folder: string, identity: AgentIdentity): void {
  chmodSync(folder, 0o755)
  if (identity.uid !== null) chownSync(folder, identity.uid, identity.uid)
}

export function gitEnvironment(config: DaemonConfig, paths: DaemonPaths): Record<string, string> {
  return {
    PATH: systemPath,
    HOME: paths.home,
    LANG: 'C.UTF-8',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: join(paths.runtimeDir, 'git', 'config'),
    SVC_REPO_URL: config.repoUrl,
    SVC_API_URL: config.apiUrl,
    SVC_PROJECT_ID: config.projectId,
    SVC_TOKEN: config.token,
  }
}

/** The agent's git settings. Outside the repository, which stays as it was cloned. */
function gitConfig(config: DaemonConfig, credentialHelper: string): string {
  const quoted = (value: string) => `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  return [
    '[user]',
    '\tname = svc agent',
    '\temail = agent@svc.invalid',
    '[push]',
    '\tdefault = current',
    '[init]',
    `\tdefaultBranch = ${quoted(config.defaultBranch)}`,
    '[advice]',
    '\tdetachedHead = false',
    // Only for the session's own remote: another host never sees what it answers.
    `[credential ${quoted(config.repoUrl)}]`,
    `\thelper = ${quoted(`!${credentialHelper} git-credential`)}`,
    '\tuseHttpPath = true',
    // An agent that wants settings of its own writes them where git would look without us.
    '[include]',
    '\tpath = ~/.gitconfig',
    '',
  ].join('\n')
}

/**
 * The commit that is checked out, read without starting git: /svc/health is asked often. The agent owns these files and
 * may put anything there, so: never through a link, never waiting for a pipe, and nothing but an id comes out.
 */
async function readCommit(workspace: string): Promise<string | null> {
  const id = /^[0-9a-f]{40}([0-9a-f]{24})?$/
  const head = await readSmall(join(workspace, '.git', 'HEAD'))
  if (head === null || id.test(head)) return head
  const ref = /^ref: (refs\/heads\/[^\0]+)$/.exec(head)?.[1]
  if (ref === undefined || ref.split('/').includes('..')) return null
  const loose = await readSmall(join(workspace, '.git', ref))
  return loose !== null && id.test(loose) ? loose : null
}

async function readSmall(path: string): Promise<string | null> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0)
      return buffer.toString('utf8', 0, bytesRead).trim()
    } finally {
      await file.close()
    }
  } catch {
    return null
  }
}

export function readUidMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8')
  } catch {
    return ''
  }
}
