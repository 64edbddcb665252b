/** Finds the damage of a repository on disk. Changes nothing. */
import { git, lastMessage } from '../process/git.ts'
import { objectFormat } from '../process/object-format.ts'
import { type CallOptions, requireSha, type Sha } from '../repository.ts'

const linesMax = 20
const outputBytesMax = 64 * 1024

/** Why the repository as a whole cannot be read, such as a lost HEAD. Null: it can. */
export async function whyUnreadable(dir: string, options: CallOptions = {}): Promise<string | null> {
  // git itself reads a repository without settings, and would take one of SHA-256 for one of SHA-1.
  const settings = await objectFormat(dir).catch((error: Error) => error)
  if (settings instanceof Error) return settings.message
  // 128: it is no repository, or its settings cannot be read.
  const found = await git(dir, ['rev-parse', '--git-dir'], { ...options, accept: [0, 128] })
  return found.code === 0 ? null : lastMessage(found.stderr)
}

/**
 * Finds what is missing between refs and objects, without reading the content of files. git lists the objects before
 * it reads the refs, so it misses what arrives in between. A second look has that, and only what both miss is damage.
 */
export async function missingLinks(dir: string, options: CallOptions = {}): Promise<string[]> {
  const first = await lookForLinks(dir, options)
  if (first.lines.length === 0) return []
  const second = await lookForLinks(dir, options)
  const both = new Set(second.lines).intersection(new Set(first.lines))
  // Of two cut lists, each can have another part. No change in between fills one.
  const missing = first.isCut && second.isCut ? second.lines : [...both]
  return missing.slice(0, linesMax)
}

async function lookForLinks(dir: string, options: CallOptions): Promise<{ lines: string[]; isCut: boolean }> {
  // 1 to 63: a sum of kinds of damage. 128: a ref or the repository itself cannot be read.
  const accept = [...Array.from({ length: 64 }, (_, code) => code), 128]
  // These only repeat what is in packs, and git does without them.
  const config: [string, string][] = [
    ['core.commitGraph', 'false'],
    ['core.multiPackIndex', 'false'],
  ]
  const args = ['fsck', '--connectivity-only', '--no-dangling', '--no-progress']
  const limits = { bytesMax: outputBytesMax, overflow: 'cut' } as const
  const found = await git(dir, args, { ...options, ...limits, lane: 'network', accept, config })
  if (found.code === 0 && !found.cut) return { lines: [], isCut: false }
  const lines = `${found.stdout.toString()}\n${found.stderr}`.split('\n').filter((line) => line.trim() !== '')
  return { lines: lines.length === 0 ? [`git fsck ended with exit code ${found.code}`] : lines, isCut: found.cut }
}

/** Those of these commits, all of which are here, that the history of the tip does not contain. */
export async function notContained(dir: string, shas: Sha[], tip: Sha, options: CallOptions = {}): Promise<Sha[]> {
  if (shas.length === 0) return []
  const walked = await git(dir, ['rev-list', '--stdin'], {
    ...options,
    input: [...shas.map(requireSha), `^${requireSha(tip)}`, ''].join('\n'),
    lane: 'network',
  })
  const outside = new Set(walked.stdout.toString().split('\n'))
  return shas.filter((sha) => outside.has(sha))
}
