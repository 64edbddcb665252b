/**
 * `svc-agent save-work`: the work tree as a commit, made under the agent's own uid. It has a git folder of its own
 * outside the repository, with its own index and objects, so nothing of the agent's is touched: not its index, not its
 * work tree, not one file below .git. That folder's attributes switch every conversion off: what is saved is what the
 * files hold, byte for byte.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { SavedWork, SaveWorkRequest } from '@svc/contract/daemon'

import { childGit, type Git, GitFailed, lines, names } from './save-work-git.ts'
import { stageChanges } from './save-work-stage.ts'

export interface SaveWorkInput extends SaveWorkRequest {
  workspace: string
  /** Ours; made when it is missing. The agent may remove it, then everything is read again. */
  store: string
}

/** What the header says, and the command whose output is the pack, if there is one. */
export interface Prepared {
  header: SavedWork
  pack: { args: string[]; input: string } | null
}

/** Loose objects of earlier saves. Past it the folder is made anew, which costs one reading of the whole tree. */
const storeKilobytesMax = 256 * 1024
const pathsToldMax = 100

export async function saveWork(input: SaveWorkInput, env: Record<string, string>): Promise<Prepared> {
  const agent = childGit(['-C', input.workspace], env)
  const head = await oneLine(agent, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])
  const ours = await openStore(input, agent, env)
  const remembered = readState(input.store)
  await startFrom(ours, input.store, head, remembered.head)
  const notes = await stageChanges({ ours, agent, workspace: input.workspace, head, limits: input })
  const tree = await need(ours, ['write-tree', '--missing-ok'])

  const pushed = await present(ours, input.pushed)
  const unpushed = head === null ? 0 : await countNew(ours, head, pushed)
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
    paths: changed.slice(0, pathsToldMax).map((path) => Buffer.from(path, 'latin1').toString('utf8').slice(0, 500)),
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

/** Our git folder, over the agent's work tree and borrowing its objects. */
async function openStore(input: SaveWorkInput, agent: Git, env: Record<string, string>): Promise<Git> {
  const { store, workspace } = input
  const ours = childGit([`--git-dir=${store}`, `--work-tree=${workspace}`], env, workspace)
  if (!(await isUsable(ours))) {
    rmSync(store, { recursive: true, force: true })
    mkdirSync(store, { recursive: true, mode: 0o700 })
    // Without a repository here, the server's ids tell the format.
    const format =
      (await oneLine(agent, ['rev-parse', '--show-object-format'])) ??
      ((input.pushed[0] ?? '').length === 64 ? 'sha256' : 'sha1')
    await need(childGit([], env), ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, store])
    mkdirSync(join(store, 'info'), { recursive: true })
  }
  // Of all attribute files this one wins. No conversion at all: no line ends, no filters, no keywords, no encodings.
  writeFileSync(join(store, 'info', 'attributes'), '* -text -eol -filter -ident -working-tree-encoding\n')
  const objects = await oneLine(agent, ['rev-parse', '--path-format=absolute', '--git-path', 'objects'])
  mkdirSync(join(store, 'objects', 'info'), { recursive: true })
  writeFileSync(join(store, 'objects', 'info', 'alternates'), objects === null ? '' : `${objects}\n`)
  await copyExcludes(store, agent, ours)
  return ours
}

/** What the agent's git ignores beyond the .gitignore files. */
async function copyExcludes(store: string, agent: Git, ours: Git): Promise<void> {
  const own = await oneLine(agent, ['rev-parse', '--path-format=absolute', '--git-path', 'info/exclude'])
  let text = ''
  try {
    text = own === null ? '' : readFileSync(own, 'latin1').slice(0, 1024 * 1024)
  } catch {
    // There need not be one.
  }
  writeFileSync(join(store, 'info', 'exclude'), text, 'latin1')
  const file = await oneLine(agent, ['config', '--path', '--get', 'core.excludesFile'])
  await ours(file === null ? ['config', '--unset-all', 'core.excludesFile'] : ['config', 'core.excludesFile', file])
}

async function isUsable(ours: Git): Promise<boolean> {
  const counted = await ours(['count-objects', '-v'])
  // The second reads the index, which a sandbox that ran out of space may have left cut.
  if (counted.code !== 0 || (await ours(['ls-files', '-z', '--', 'x'])).code !== 0) return false
  const size = /^size: (\d+)$/m.exec(counted.stdout)?.[1]
  return Number(size ?? 0) < storeKilobytesMax
}

/**
 * Our index is the work tree as it was seen last, with what `stat` said of each file, so that only what changed is read
 * again. A new HEAD may track what an ignore pattern covers, so then it begins from there; entries that are alike keep
 * what is known of them.
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

/** Those of the server's commits that are known here; git stops at an unknown one. */
async function present(ours: Git, shas: string[]): Promise<string[]> {
  if (shas.length === 0) return []
  const checked = await ours(['cat-file', '--batch-check=%(objectname) %(objecttype)'], {
    input: `${shas.join('\n')}\n`,
  })
  return lines(checked.stdout).flatMap((line) => (line.endsWith(' commit') ? [line.split(' ')[0]!] : []))
}

async function countNew(ours: Git, head: string, pushed: string[]): Promise<number> {
  return Number(await need(ours, ['rev-list', '--count', head, ...pushed.map((sha) => `^${sha}`)]))
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
