/** Applies saved work to a clone: as exact changes of its work tree, or as a branch. All or nothing. */
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { says } from './gateway.ts'
import { git } from './git.ts'
import { quote } from '../arguments/shell-word.ts'

interface Work {
  top: string
  commit: string
  /** The command to suggest with another flag. */
  again: string
}

/** The newest branches of the clone, so that the fetch skips their commits. */
const haveMax = 100

export async function commitsHere({ io }: Pick<Context, 'io'>, top: string): Promise<string[]> {
  const format = ['--format=%(objectname)', '--sort=-committerdate', `--count=${haveMax}`]
  const listed = await git(top, ['for-each-ref', ...format, 'refs/heads', 'refs/remotes'], io.env)
  const head = await git(top, ['rev-parse', '--verify', '--quiet', 'HEAD'], io.env).catch(() => '')
  return [...new Set(`${head}\n${listed}`.split('\n').filter(Boolean))].slice(0, haveMax)
}

export async function hasCommit({ io }: Pick<Context, 'io'>, top: string, commit: string): Promise<boolean> {
  return says(top, ['cat-file', '-e', `${commit}^{commit}`], io.env)
}

/** Creates only a branch: no file and no other ref changes. */
export async function branchWork({ io }: Pick<Context, 'io'>, { top, commit }: Work, branch: string): Promise<void> {
  if (branch.startsWith('-') || !(await says(top, ['check-ref-format', '--branch', branch], io.env)))
    throw new Refusal('bad_name', `${JSON.stringify(branch)} is not a valid branch name`)
  if (await says(top, ['show-ref', '--verify', '--quiet', `refs/heads/${branch}`], io.env))
    throw new Refusal('name_taken', `The branch ${branch} already exists`, { hint: 'Nothing changed.' })
  await git(top, ['branch', '--no-track', branch, commit], io.env)
}

/** Tracked files that differ from HEAD or the index. */
export async function requireClean({ io }: Pick<Context, 'io'>, { top, again }: Work): Promise<void> {
  const status = await git(top, ['status', '--porcelain', '--untracked-files=no'], io.env)
  if (status.trim() === '') return
  throw new Refusal('not_clean', 'This work tree has uncommitted changes', {
    hint: 'Nothing changed. Commit or stash them, or recover to a branch, which touches no file.',
    next: ['git stash', `${again} --branch recovered`],
  })
}

/** Commits that were never pushed and that fast-forward the current branch. */
export async function takeCommits({ io }: Pick<Context, 'io'>, { top }: Work, base: string): Promise<void> {
  const isBehind =
    (await hasCommit({ io }, top, base)) && (await says(top, ['merge-base', '--is-ancestor', 'HEAD', base], io.env))
  if (isBehind) await git(top, ['merge', '--quiet', '--ff-only', base], io.env)
}

/** Writes the changes into the work tree and leaves HEAD and the index. Returns the number of changed files. */
export async function applyWork({ io }: Pick<Context, 'io'>, work: Work): Promise<number> {
  const { top, commit } = work
  const head = (await git(top, ['rev-parse', '--verify', 'HEAD^{commit}'], io.env)).trim()
  const tree = await resultTree({ io }, work, head)
  const changed = (await git(top, ['diff-tree', '-r', '--no-renames', '--name-only', '-z', head, tree], io.env))
    .split('\0')
    .filter(Boolean)
  if (changed.length > 0) await writeTree({ io }, work, { head, tree, commit })
  return changed.length
}

/** The target tree: the saved files, merged with later commits on HEAD. */
async function resultTree({ io }: Pick<Context, 'io'>, { top, commit, again }: Work, head: string): Promise<string> {
  if (await says(top, ['merge-base', '--is-ancestor', head, commit], io.env))
    return (await git(top, ['rev-parse', `${commit}^{tree}`], io.env)).trim()
  if (!(await says(top, ['merge-base', head, commit], io.env)))
    throw new Refusal('another_repository', 'This clone shares no history with the saved work', {
      hint: 'Use a clone of the project, or recover to a branch.',
      next: [`${again} --branch recovered`],
    })
  const merged = await mergeTrees({ io }, top, head, commit)
  if (merged.conflicts === null) return merged.tree
  throw new Refusal('conflicts', `The saved work conflicts with this work tree: ${merged.conflicts.join(', ')}`, {
    hint: 'Nothing changed. Recover to a branch and merge it yourself.',
    detail: { conflicts: merged.conflicts },
    next: [`${again} --branch recovered`, `git merge --squash ${quote('recovered')}`],
  })
}

async function mergeTrees(
  { io }: Pick<Context, 'io'>,
  top: string,
  head: string,
  commit: string,
): Promise<{ tree: string; conflicts: string[] | null }> {
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', head, commit]
  const child = Bun.spawn(['git', ...args], {
    cwd: top,
    env: { ...io.env, LC_ALL: 'C' } as Record<string, string>,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [text, said, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  const [tree = '', ...files] = text.split('\0').filter((part) => part.trim() !== '')
  // 1 with a tree is a conflict; any other nonzero code is a failure.
  if (code === 0) return { tree: tree.trim(), conflicts: null }
  if (code === 1 && /^[0-9a-f]{40,64}$/.test(tree.trim())) return { tree: tree.trim(), conflicts: [...new Set(files)] }
  throw new Refusal('git_failed', 'git could not merge the saved work', {
    hint: said.trim().split('\n').slice(-3).join(' · '),
  })
}

/**
 * Uses a separate git folder whose attributes disable every conversion, so that files are written exactly as saved. Its
 * index is a copy, so git knows which files are unchanged, and refuses before writing anything if unsaved content would
 * be overwritten.
 */
async function writeTree(
  { io }: Pick<Context, 'io'>,
  { top, again }: Work,
  { head, tree }: { head: string; tree: string; commit: string },
): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), 'svc-recover-'))
  try {
    const ask = async (path: string) =>
      (await git(top, ['rev-parse', '--path-format=absolute', '--git-path', path], io.env)).replace(/\n$/, '')
    const format = (await git(top, ['rev-parse', '--show-object-format'], io.env)).trim()
    await git(place, ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, place], io.env)
    await mkdir(join(place, 'info'), { recursive: true })
    await writeFile(join(place, 'info', 'attributes'), '* -text -eol -filter -ident -working-tree-encoding\n')
    await mkdir(join(place, 'objects', 'info'), { recursive: true })
    await writeFile(join(place, 'objects', 'info', 'alternates'), `${await ask('objects')}\n`)
    await copyFile(await ask('index'), join(place, 'index'))
    const plain = ['-c', 'core.bare=false', '-c', 'core.autocrlf=false', '-c', 'core.splitIndex=false']
    await git(top, [`--git-dir=${place}`, `--work-tree=${top}`, ...plain, 'read-tree', '-m', '-u', head, tree], io.env)
  } catch (error) {
    const said = error instanceof Refusal ? (error.hint ?? '') : ''
    const inTheWay = [...said.matchAll(/(?:file|Entry|directory) '([^']+)'|in (?:them|it): *(\S+)/g)].map(
      (match) => match[1] ?? match[2] ?? '',
    )
    if (inTheWay.length === 0) throw error
    throw new Refusal('in_the_way', `Files here would be overwritten: ${inTheWay.join(', ')}`, {
      hint: 'Nothing changed. Move them away, or recover to a branch.',
      detail: { files: inTheWay },
      next: [`${again} --branch recovered`],
      cause: error,
    })
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}
