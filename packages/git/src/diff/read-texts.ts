import { git } from '../process/git.ts'
import { pathBytes } from '../formats/paths.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'

export interface TextLimits {
  /** Larger files are left out. */
  fileBytesMax: number
  /** Files are left out once this many bytes are read. */
  bytesMax: number
}

/** The text of files of a commit, by path, with two commands of git. Binary, missing, and too large files are left out. */
export async function readTexts(
  repo: Repository,
  { sha, paths, fileBytesMax, bytesMax }: { sha: Sha; paths: readonly string[] } & TextLimits,
  options: CallOptions = {},
): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  // A missing object is answered with its name, and a line feed in it would shift the answers.
  const asked = paths.filter((path) => !path.includes('\n'))
  if (asked.length === 0) return texts
  const prefix = Buffer.from(`${requireSha(sha)}:`)
  const input = Buffer.concat(asked.flatMap((path) => [prefix, pathBytes(path), Buffer.of(0)]))
  const check = ['cat-file', '-z', '--batch-check=%(objecttype) %(objectname) %(objectsize)']
  const { stdout } = await git(repo.dir, check, { ...options, input })
  const lines = stdout.toString('latin1').split('\n')
  const chosen: { path: string; blob: Sha; size: number }[] = []
  let bytes = 0
  for (const [at, path] of asked.entries()) {
    const [, blob = '', length = ''] = /^blob ([0-9a-f]+) (\d+)$/.exec(lines[at] ?? '') ?? []
    const size = Number(length)
    if (blob === '' || size > fileBytesMax || bytes + size > bytesMax) continue
    bytes += size
    chosen.push({ path, blob, size })
  }
  const contents = await git(repo.dir, ['cat-file', '--batch=%(objectsize)'], {
    ...options,
    input: chosen.map(({ blob }) => `${blob}\n`).join(''),
    bytesMax: bytesMax + 100 * chosen.length,
  })
  let from = 0
  for (const { path, size } of chosen) {
    const start = contents.stdout.indexOf(10, from) + 1
    const content = contents.stdout.subarray(start, start + size)
    if (!content.subarray(0, 8000).includes(0)) texts.set(path, content.toString('utf8'))
    from = start + size + 1
  }
  return texts
}
