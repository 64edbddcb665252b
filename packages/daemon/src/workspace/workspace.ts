/** The work tree. git and every other child process here runs as the agent, never as the daemon. */
import { chmodSync, chownSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { asAgent, type Finished, finish, lastLines, systemPath } from '../child.ts'
import type { AgentIdentity, DaemonConfig, DaemonPaths } from '../config.ts'
import { writeEnforcedConfig } from '../runtime/runtime-config.ts'

export type Workspace = ReturnType<typeof createWorkspace>

export type RefreshOutcome =
  | { kind: 'updated'; before: string; after: string }
  /** The work tree is unchanged; the fetched commits are in the repository. */
  | { kind: 'not-fast-forward'; reason: string }
  | { kind: 'failed'; reason: string }

const cloneMs = 15 * 60_000
const shortMs = 60_000

export function createWorkspace(options: {
  config: DaemonConfig
  paths: DaemonPaths
  identity: AgentIdentity
  /** The command that git runs as its credential helper. */
  credentialHelper: string
}) {
  const { config, paths, identity } = options
  const branchRef = `refs/remotes/origin/${config.branch}`
  const defaultRef = `refs/remotes/origin/${config.defaultBranch}`

  const git = (args: string[], timeoutMs = shortMs, env: Record<string, string> = {}): Promise<Finished> =>
    finish(asAgent(identity, ['git', ...args]), {
      cwd: paths.workspace,
      env: { ...gitEnvironment(config, paths), ...env },
      timeoutMs,
    })

  async function need(args: string[], timeoutMs?: number): Promise<string> {
    return outputOf(args[0], await git(args, timeoutMs))
  }

  /** Gives the folders to the agent and writes its git configuration. */
  function prepare(): void {
    // Before the home is the agent's: only its owner can write there.
    const settings = join(paths.home, '.config/opencode')
    mkdirSync(join(settings, 'node_modules'), { recursive: true })
    writeFileSync(join(settings, 'package-lock.json'), nothingToInstall)
    for (const folder of [paths.workspace, settings, join(paths.home, '.config'), paths.home]) {
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

  const specOf = (name: string) => `+refs/heads/${name}:refs/remotes/origin/${name}`
  const track = (name: string) => need(['config', '--add', 'remote.origin.fetch', specOf(name)])
  /** The base last. */
  const allBranches = () => [...new Set([config.branch, config.defaultBranch, config.baseRef])]

  async function init(): Promise<void> {
    await need(['init', '--quiet', `--initial-branch=${config.branch}`, '.'])
    await need(['remote', 'add', 'origin', config.repoUrl])
    await need(['config', 'remote.origin.fetch', specOf(config.branch)])
  }

  /** Waits for a server that is away: it is a boot that would fail. */
  async function fetch(branches: string[], env?: Record<string, string>): Promise<Finished> {
    for (const deadline = performance.now() + awayMs; ;) {
      const done = await git(['fetch', '--quiet', 'origin', ...branches.map(specOf)], cloneMs, env)
      if (done.code === 0 || !isAway.test(done.stderr) || performance.now() > deadline) return done
      await delay(againMs)
    }
  }

  /** Fetches the branches of the session that exist, and returns them: the base may be a commit, or deleted. */
  async function fetchBranches(): Promise<string[]> {
    const all = allBranches()
    if ((await fetch(all)).code === 0) return all
    // Agents and skills come from the default branch.
    const withoutBase = all.slice(0, 2)
    if (all.length > 2 && (await fetch(withoutBase)).code === 0) return withoutBase
    outputOf('fetch', await fetch([config.branch]))
    return [config.branch]
  }

  async function clone(): Promise<void> {
    // Not `git clone`: every session has a branch on the remote, and this one needs only its own and its base.
    await init()
    for (const name of (await fetchBranches()).slice(1)) await track(name)
    await need(['checkout', '--quiet', '-B', config.branch, '--track', `origin/${config.branch}`], cloneMs)
  }

  /** Copies the agents and skills of the default branch, which sessions use whatever their own branch contains. */
  async function copyConfigDir(): Promise<void> {
    const target = join(paths.runtimeDir, 'config')
    const listed = await git(['ls-tree', '-d', '--name-only', defaultRef, '--', config.configDir])
    // A repository without this branch or folder has no agents and skills.
    const found = listed.code === 0 && listed.stdout.trim() !== ''
    const depth = config.configDir.split('/').filter(Boolean).length
    const copy = 'git archive --format=tar "$2" -- "$3" | tar -x -C "$1" --strip-components="$4" --no-same-owner'
    const script = `find "$1" -mindepth 1 -delete${found ? ` && ${copy}` : ''} && ${installNothingWithoutCode}`
    const done = await finish(
      asAgent(identity, [
        '/bin/sh',
        '-c',
        script,
        'copy-config',
        target,
        defaultRef,
        config.configDir,
        String(depth),
        nothingToInstall,
      ]),
      { cwd: paths.workspace, env: gitEnvironment(config, paths), timeoutMs: shortMs },
    )
    if (done.code !== 0) throw new Error(`Couldn't copy ${config.configDir}: ${lastLines(done.stderr)}`)
    writeEnforcedConfig(config, paths)
  }

  async function refresh(): Promise<RefreshOutcome> {
    const before = await need(['rev-parse', 'HEAD'])
    const fetched = await git(
      ['fetch', '--quiet', 'origin', ...[config.branch, config.defaultBranch].map(specOf)],
      cloneMs,
    )
    if (fetched.code !== 0) {
      // The session branch may be deleted on the remote; the configuration comes from the default branch.
      const merged = await git(['fetch', '--quiet', 'origin', specOf(config.defaultBranch)], cloneMs)
      const reason = lastLines(fetched.stderr)
      return merged.code === 0 ? { kind: 'not-fast-forward', reason } : { kind: 'failed', reason }
    }
    const head = await git(['symbolic-ref', '--quiet', '--short', 'HEAD'])
    if (head.stdout.trim() !== config.branch) {
      // 1: no branch is checked out, as during a rebase.
      const what = head.code === 0 ? `the branch ${head.stdout.trim()}` : 'no branch'
      return { kind: 'not-fast-forward', reason: `the work tree has ${what} checked out` }
    }
    // 1 and 128: the branch has its own commits, or uncommitted files conflict.
    const merged = await git(['merge', '--quiet', '--ff-only', branchRef])
    if (merged.code !== 0) return { kind: 'not-fast-forward', reason: lastLines(merged.stderr) }
    return { kind: 'updated', before, after: await need(['rev-parse', 'HEAD']) }
  }

  /** In the pool: moves the tree to a commit of the default branch, like a clone of a session branch there. */
  async function follow(commit: string, credential: string): Promise<void> {
    if ((await git(['remote', 'get-url', 'origin'])).code !== 0) {
      await init()
      if (config.defaultBranch !== config.branch) await track(config.defaultBranch)
    }
    // In the environment, since every process can read arguments, and never in a file.
    const header = `Authorization: Basic ${btoa(`x-access-token:${credential}`)}`
    const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'http.extraHeader', GIT_CONFIG_VALUE_0: header }
    outputOf('fetch', await fetch([config.defaultBranch], env))
    // The session branch will start at this commit, so check it out before it exists.
    await need(['update-ref', branchRef, commit])
    await need(['checkout', '--quiet', '--force', '-B', config.branch, '--track', `origin/${config.branch}`], cloneMs)
  }

  /** Updates the tree to the remote session branch; `null` when it is already at that tip. */
  async function claim(commit: string | null): Promise<void> {
    const hasOtherBase = config.baseRef !== config.defaultBranch
    if (hasOtherBase) await track(config.baseRef)
    if (commit === null && !hasOtherBase) return
    await fetchBranches()
    await need(['reset', '--quiet', '--hard', branchRef], cloneMs)
  }

  return { prepare, clone, copyConfigDir, refresh, follow, claim, commit: () => readCommit(paths.workspace) }
}

/** Throws when git failed. */
function outputOf(command: string | undefined, { code, stdout, stderr }: Finished): string {
  if (code !== 0) throw new Error(`git ${command} failed: ${lastLines(stderr) || `exit code ${code}`}`)
  return stdout.trim()
}

/** Matches git's messages while the server restarts, moves the project to another one, or waits for its database. */
const isAway =
  /returned error: 503|Empty reply from server|Connection re(?:set|fused)|Failed to connect|early EOF|unexpected disconnect|transfer closed/
const awayMs = 60_000
const againMs = 1_000

/**
 * At each start the runtime installs the package that tools and plugins import, in every folder of settings whose lock
 * file does not name it. That takes a second of processor time, and fails without a network. A folder without a program
 * imports nothing.
 */
const nothingToInstall = JSON.stringify({ packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } })
const installNothingWithoutCode = `
cd "$1" || exit 1
[ -z "$(find . -name '*.[cm][jt]s' -o -name '*.[jt]s' -o -name 'package*.json' -o -name node_modules)" ] || exit 0
mkdir node_modules && printf %s "$5" > package-lock.json`

/** Makes the agent the owner of the folder. */
export function give(folder: string, identity: AgentIdentity): void {
  chmodSync(folder, 0o755)
  if (identity.uid !== null) chownSync(folder, identity.uid, identity.uid)
}

function gitEnvironment(config: DaemonConfig, paths: DaemonPaths): Record<string, string> {
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

/** The agent's git configuration, outside the repository. */
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
    // Only for the session's own remote, so that no other host receives the credential.
    `[credential ${quoted(config.repoUrl)}]`,
    `\thelper = ${quoted(`!${credentialHelper} git-credential`)}`,
    '\tuseHttpPath = true',
    // The agent's own settings go where git would look by default.
    '[include]',
    '\tpath = ~/.gitconfig',
    '',
  ].join('\n')
}

/**
 * The commit that is checked out, read without starting git, since /svc/health is polled often. The agent owns these
 * files, so this never follows a link, never waits for a pipe, and returns only a commit id.
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
    // No such file, or not a regular one.
    return null
  }
}

export function readUidMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8')
  } catch {
    // A kernel without user namespaces has no such file.
    return ''
  }
}
