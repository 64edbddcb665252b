import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { borrowObjects, gitOrThrow, runGit, type HistoricMerge, type Outcome } from './merge-history.ts'

/** One work tree for all merges in turn. */
export async function makeWorkTree(path: string, dir: string): Promise<string> {
  await mkdir(dir)
  const format = await gitOrThrow(path, ['rev-parse', '--show-object-format'])
  await gitOrThrow(dir, ['init', '--quiet', '--template=', `--object-format=${format}`])
  await borrowObjects(path, join(dir, '.git'))
  return dir
}

/** The program itself, as a person would use it. */
export async function mergeInWorkTree(dir: string, { base, head }: HistoricMerge): Promise<Outcome> {
  await gitOrThrow(dir, ['checkout', '--quiet', '--force', '--detach', base])
  await gitOrThrow(dir, ['clean', '-ffdxq'])
  const how = ['--no-ff', '--no-edit', '--no-verify', '--allow-unrelated-histories', '-m', 'merge']
  const merged = await runGit(dir, ['merge', ...how, head])
  if (merged.code === 0) return { kind: 'clean', tree: await gitOrThrow(dir, ['rev-parse', 'HEAD^{tree}']) }
  const unmerged = (await runGit(dir, ['ls-files', '--unmerged', '-z'])).out.split('\0').filter(Boolean)
  const files = new Set(unmerged.map((line) => originalName(line.slice(line.indexOf('\t') + 1), head)))
  // Conflicts about folders leave no unmerged path; only the message names it.
  for (const [, path] of merged.out.matchAll(folderConflicts)) if (path) files.add(path)
  // Only git's message distinguishes a missing object from other errors that end a merge.
  if (merged.err.includes('unable to read sha1 file')) return { kind: 'incomplete', reason: merged.err.trim() }
  // 1 means conflicts. git also exits with 1 when it refuses to begin, and then no path is in conflict.
  if (merged.code !== 1 || files.size === 0) return { kind: 'failed', reason: `${merged.out}${merged.err}`.trim() }
  return { kind: 'conflicted', files: [...files].map(readable).sort() }
}

const folderConflicts =
  /(?:split\): Unclear where to (?:rename|place)|Cannot map more than one path to|Existing file\/dir at) (.+?)(?: to;| because directory|; implicit directory| in the way of)/g

/** The names git uses for files it moves aside: `path~HEAD` or `path~<commit>`. */
function originalName(path: string, head: string): string {
  return path.replace(new RegExp(`~(?:HEAD|${head})(?:_\\d+)?(?=/|$)`), '')
}

/** Paths as our engine writes them: text if it is UTF-8, otherwise git's quoted form. */
function readable(path: string): string {
  const bytes = Buffer.from(path, 'latin1')
  const text = bytes.toString()
  if (Buffer.from(text).equals(bytes)) return text
  const quoted = Array.from(bytes, (byte) => {
    const char = String.fromCharCode(byte)
    if (char === '"' || char === '\\') return `\\${char}`
    return byte < 0x20 || byte >= 0x7f ? `\\${byte.toString(8).padStart(3, '0')}` : char
  })
  return `"${quoted.join('')}"`
}
