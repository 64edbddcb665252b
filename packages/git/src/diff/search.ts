import { git } from '../process/git.ts'
import { pathText } from '../formats/paths.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'

export interface SearchMatch {
  path: string
  line: number
  /** The line, cut to the part around the match. */
  text: string
}

const pathsBytesMax = 16 * 1024 * 1024
const matchesBytesMax = 4 * 1024 * 1024
const nul = 0
const lineFeed = 10

/** The paths of all files, in git's order: at most `limit`. */
export async function listPaths(
  repo: Repository,
  { sha, limit }: { sha: Sha; limit: number },
  options: CallOptions = {},
): Promise<{ paths: string[]; truncated: boolean }> {
  const args = ['ls-tree', '-r', '-z', '--name-only', '--full-tree', requireSha(sha)]
  const { stdout, cut } = await git(repo.dir, args, { ...options, bytesMax: pathsBytesMax, overflow: 'cut' })
  const paths: string[] = []
  let at = 0
  for (let end = stdout.indexOf(nul); end !== -1 && paths.length <= limit; end = stdout.indexOf(nul, at)) {
    paths.push(pathText(stdout.subarray(at, end)))
    at = end + 1
  }
  return { paths: paths.slice(0, limit), truncated: cut || paths.length > limit }
}

/** The lines of text files that contain `text`, in any case: at most `limit`. */
export async function searchText(
  repo: Repository,
  { sha, text, limit }: { sha: Sha; text: string; limit: number },
  options: CallOptions = {},
): Promise<{ matches: SearchMatch[]; truncated: boolean }> {
  const args = ['grep', '-I', '-n', '-z', '-i', '-F', '--full-name', '--no-color', '--threads=1', '-e', text]
  const { stdout, cut } = await git(repo.dir, [...args, requireSha(sha), '--'], {
    ...options,
    // No line has it.
    accept: [0, 1],
    bytesMax: matchesBytesMax,
    overflow: 'cut',
  })
  const matches = readMatches(stdout, { before: sha.length + 1, text, limit })
  return { matches: matches.slice(0, limit), truncated: cut || matches.length > limit }
}

/** Records of `<id>:<path>\0<line>\0<text>\n`; one more than `limit`. A record that the end cuts off is left out. */
function readMatches(
  output: Buffer,
  { before, text, limit }: { before: number; text: string; limit: number },
): SearchMatch[] {
  const matches: SearchMatch[] = []
  for (let at = 0; at < output.length && matches.length <= limit;) {
    const path = output.indexOf(nul, at)
    const line = output.indexOf(nul, path + 1)
    const end = output.indexOf(lineFeed, line + 1)
    if (path === -1 || line === -1 || end === -1) break
    matches.push({
      path: pathText(output.subarray(at + before, path)),
      line: Number(output.toString('latin1', path + 1, line)),
      text: around(output.toString('utf8', line + 1, end), text),
    })
    at = end + 1
  }
  return matches
}

const lettersMax = 300
const lettersBefore = 80

/** A line can be a whole minified program. */
function around(line: string, text: string): string {
  if (line.length <= lettersMax) return line
  const found = line.toLowerCase().indexOf(text.toLowerCase())
  const from = Math.max(0, found - lettersBefore)
  const part = line.slice(from, from + lettersMax).toWellFormed()
  return `${from > 0 ? '…' : ''}${part}${from + lettersMax < line.length ? '…' : ''}`
}
