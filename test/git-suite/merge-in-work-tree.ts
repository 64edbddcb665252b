import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { borrowObjects, gitOrThrow, runGit, type HistoricMerge, type Outcome } from './merge-history.ts'

/** A work tree that is used for one merge after the other. */
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
  // Conflicts about folders leave nothing unmerged behind; only the message names a path.
  for (const [, path] of merged.out.matchAll(folderConflicts)) if (path) files.add(path)
  // Only git's words tell an object that is not there from everything else that ends a merge.
  if (merged.err.includes('unable to read sha1 file')) return { kind: 'incomplete', reason: merged.err.trim() }
  // 1: conflicts. It is also how git refuses to begin, and then nothing is in conflict.
  if (merged.code !== 1 || files.size === 0) return { kind: 'failed', reason: `${merged.out}${merged.err}`.trim() }
  return { kind: 'conflicted', files: [...files].map(readable).sort() }
}

const folderConflicts =
  /(?:split\): Unclear where to (?:rename|place)|Cannot map more than one path to|Existing file\/dir at) (.+?)(?: to;| because directory|; implicit directory| in the way of)/g

/** What git moved aside as `path~HEAD` or `path~<commit>`. */
function originalName(path: string, head: string): string {
  return path.replace(new RegExp(`~(?:HEAD|${head})(?:_\\d+)?(?=/|$)`), '')
}

/** As our answers write paths: text where it is UTF-8, and git's quoted form where it is not. */
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
