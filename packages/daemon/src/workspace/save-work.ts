/**
 * `svc-agent save-work`: saves the work tree as a commit, under the agent's uid. A separate git folder outside the
 * repository holds the index and the objects, so this changes nothing of the agent's: not its index, its work tree,
 * or any file below .git. That folder's attributes turn off every conversion, so the commit has the files byte for
 * byte.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { SavedWork, SaveWorkRequest } from '@svc/contract/daemon/control'

import { childGit, type Git, GitFailed, lines, names } from './save-work-git.ts'
import { stageChanges } from './save-work-stage.ts'

interface SaveWorkInput extends SaveWorkRequest {
  workspace: string
  /** The git folder; created when missing. The agent may delete it, and then every file is read again. */
  store: string
}

/** The header, and the command that prints the pack, if there is one. */
export interface Prepared {
  header: SavedWork
  pack: { args: string[]; input: string } | null
}

/** Limit for loose objects of earlier saves. Beyond it the folder is rebuilt, which reads the whole tree once. */
const storeKilobytesMax = 256 * 1024
const pathsShownMax = 100

export async function saveWork(input: SaveWorkInput, env: Record<string, string>): Promise<Prepared> {
  const agent = childGit(['-C', input.workspace], env)
  const head = await oneLine(agent, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])
  const ours = await openStore(input, agent, env)
  const remembered = readState(input.store)
  await startFrom(ours, input.store, head, remembered.head)
  const notes = await stageChanges({ ours, agent, workspace: input.workspace, head, limits: input })
  const tree = await need(ours, ['write-tree', '--missing-ok'])

  const pushed = await present(ours, input.pushed)
  const countNew = ['rev-list', '--count', head ?? '', ...pushed.map((sha) => `^${sha}`)]
  const unpushed = head === null ? 0 : Number(await need(ours, countNew))
  const headTree = head === null ? null : await need(ours, ['rev-parse', `${head}^{tree}`])
  if (tree === headTree && unpushed === 0) {
    remember(input.store, { head, commit: null, tree: null })
    return { header: { state: 'clean', commit: null, base: head, files: 0, paths: [], unpushed: 0, notes }, pack: null }
  }
  const isSame = remembered.tree === tree && remembered.head === head && remembered.commit !== null
  const commit = isSame ? remembered.commit! : await commitTree(ours, { tree, head, message: input.message })
  remember(input.store, { head, commit, tree })
  const changed = await changedPaths(ours, head, commit)
  const header: SavedWork = {
    state: 'saved',
    commit,
    base: head,
    files: changed.length,
    paths: changed.slice(0, pathsShownMax).map((path) => Buffer.from(path, 'latin1').toString('utf8').slice(0, 500)),
    unpushed,
    notes,
  }
  if (input.have.includes(commit)) return { header, pack: null }
  const have = await present(ours, [...new Set([...input.have, ...input.pushed])])
  const revs = [commit, ...have.map((sha) => `^${sha}`)].join('\n')
  return {
    header,
    pack: { args: ['pack-objects', '--revs', '--stdout', '--thin', '--delta-base-offset', '-q'], input: `${revs}\n` },
  }
}

/** Opens the git folder over the agent's work tree, with the agent's objects as alternates. */
async function openStore(input: SaveWorkInput, agent: Git, env: Record<string, string>): Promise<Git> {
  const { store, workspace } = input
  const ours = childGit([`--git-dir=${store}`, `--work-tree=${workspace}`], env, workspace)
  // Of a git that was killed, such as when memory was short: saves run one at a time, so nothing holds them now.
  for (const lock of ['index.lock', 'config.lock']) rmSync(join(store, lock), { recursive: true, force: true })
  if (!(await isUsable(ours))) {
    rmSync(store, { recursive: true, force: true })
    mkdirSync(store, { recursive: true, mode: 0o700 })
    // Without a repository, the server's ids show the object format.
    const format =
      (await oneLine(agent, ['rev-parse', '--show-object-format'])) ??
      ((input.pushed[0] ?? '').length === 64 ? 'sha256' : 'sha1')
    await need(childGit([], env), ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, store])
  }
  // Each time: a save may have been killed after it made the repository, which has no such folder.
  mkdirSync(join(store, 'info'), { recursive: true })
  // This file overrides all other attribute files: no conversion of line ends, filters, keywords, or encodings.
  writeFileSync(join(store, 'info', 'attributes'), '* -text -eol -filter -ident -working-tree-encoding\n')
  const objects = await oneLine(agent, ['rev-parse', '--path-format=absolute', '--git-path', 'objects'])
  mkdirSync(join(store, 'objects', 'info'), { recursive: true })
  writeFileSync(join(store, 'objects', 'info', 'alternates'), objects === null ? '' : `${objects}\n`)
  await copyExcludes(store, agent, ours)
  return ours
}

/** The agent may have removed the file, or made a folder of that name. */
function readOptional(path: string): string {
  try {
    return readFileSync(path, 'latin1').slice(0, 1024 * 1024)
  } catch {
    return ''
  }
}

/** Copies what the agent's git ignores besides .gitignore files. */
async function copyExcludes(store: string, agent: Git, ours: Git): Promise<void> {
  const own = await oneLine(agent, ['rev-parse', '--path-format=absolute', '--git-path', 'info/exclude'])
  writeFileSync(join(store, 'info', 'exclude'), own === null ? '' : readOptional(own), 'latin1')
  const file = await oneLine(agent, ['config', '--path', '--get', 'core.excludesFile'])
  await ours(file === null ? ['config', '--unset-all', 'core.excludesFile'] : ['config', 'core.excludesFile', file])
}

async function isUsable(ours: Git): Promise<boolean> {
  const counted = await ours(['count-objects', '-v'])
  // ls-files reads the index, which may be truncated after the disk was full.
  if (counted.code !== 0 || (await ours(['ls-files', '-z', '--', 'x'])).code !== 0) return false
  const size = /^size: (\d+)$/m.exec(counted.stdout)?.[1]
  return Number(size ?? 0) < storeKilobytesMax
}

/**
 * The index records the work tree at the last save with each file's `stat`, so only changed files are read again. A
 * new HEAD may track files that an ignore pattern covers, so the index then restarts from HEAD and keeps the `stat`
 * of unchanged entries.
 */
async function startFrom(ours: Git, store: string, head: string | null, before: string | null): Promise<void> {
  if (head === before && existsSync(join(store, 'index'))) return
  const read = await ours(head === null ? ['read-tree', '--empty'] : ['read-tree', '-m', head])
  if (read.code !== 0 && head !== null) await need(ours, ['read-tree', '--reset', head])
}

async function commitTree(
  ours: Git,
  { tree, head, message }: { tree: string; head: string | null; message: string },
): Promise<string> {
  return need(ours, ['commit-tree', tree, ...(head === null ? [] : ['-p', head]), '-m', message])
}

/** The server's commits that exist here; git would fail on an unknown one. */
async function present(ours: Git, shas: string[]): Promise<string[]> {
  if (shas.length === 0) return []
  const checked = await ours(['cat-file', '--batch-check=%(objectname) %(objecttype)'], {
    input: `${shas.join('\n')}\n`,
  })
  return lines(checked.stdout).flatMap((line) => (line.endsWith(' commit') ? [line.split(' ')[0]!] : []))
}

async function changedPaths(ours: Git, head: string | null, commit: string): Promise<string[]> {
  const args =
    head === null
      ? ['ls-tree', '-r', '--name-only', '-z', commit]
      : ['diff-tree', '-r', '--no-renames', '--name-only', '-z', head, commit]
  const listed = await ours(args)
  return names(listed.stdout)
}

interface State {
  head: string | null
  commit: string | null
  tree: string | null
}

function readState(store: string): State {
  try {
    return JSON.parse(readFileSync(join(store, 'svc-state.json'), 'utf8')) as State
  } catch {
    // A first save, or a state file that is damaged: save everything.
    return { head: null, commit: null, tree: null }
  }
}

function remember(store: string, state: State): void {
  writeFileSync(join(store, 'svc-state.json'), JSON.stringify(state))
}

async function need(git: Git, args: string[]): Promise<string> {
  const done = await git(args)
  if (done.code !== 0) throw new GitFailed(args, done)
  return done.stdout.trim()
}

async function oneLine(git: Git, args: string[]): Promise<string | null> {
  const done = await git(args)
  const line = done.stdout.trim()
  return done.code === 0 && line !== '' ? line : null
}
