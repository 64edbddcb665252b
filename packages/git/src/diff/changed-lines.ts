/** The changed lines of one file between two commits. */
import { git } from '../process/git.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'
import { emptyTree } from './diff.ts'

/** Adjacent lines that a change removes and adds. Either may be none. */
export interface ChangedLines {
  removed: { start: number; lines: string[] }
  added: { start: number; lines: string[] }
}

const timeoutMs = 5_000
const patchBytesMax = 4 * 1024 * 1024

/** `oldPath` is the name of a renamed file before. A null `fromSha` means that everything is added. Fails beyond 4 MiB. */
export async function changedLines(
  repo: Repository,
  { fromSha, toSha, path, oldPath }: { fromSha: Sha | null; toSha: Sha; path: string; oldPath: string | null },
  options: CallOptions = {},
): Promise<ChangedLines[]> {
  const from = fromSha === null ? (emptyTree[toSha.length] ?? toSha) : requireSha(fromSha)
  const how = ['--patch', '--unified=0', '--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=none']
  const renames = oldPath === null ? ['--no-renames'] : ['--find-renames', '-l1000']
  const args = ['diff-tree', '-r', ...how, ...renames, from, requireSha(toSha), '--']
  const { stdout } = await git(repo.dir, [...args, ...(oldPath === null ? [path] : [oldPath, path])], {
    ...options,
    timeoutMs,
    bytesMax: patchBytesMax,
    env: { GIT_LITERAL_PATHSPECS: '1' },
  })
  return hunksOf(stdout.toString('utf8'))
}

function hunksOf(patch: string): ChangedLines[] {
  const hunks: ChangedLines[] = []
  const lines = patch.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(lines[at]!)
    if (found === null) continue
    const [, oldStart, oldCount = '1', newStart, newCount = '1'] = found
    const hunk = {
      removed: { start: Number(oldStart), lines: [] as string[] },
      added: { start: Number(newStart), lines: [] as string[] },
    }
    // By the counts: a line of content may look like the head of a hunk.
    for (let left = Number(oldCount) + Number(newCount); left > 0 && at + 1 < lines.length; left--) {
      let line = lines[++at]!
      // The note on a missing line end is not counted.
      if (line.startsWith('\\')) line = lines[++at] ?? ''
      const side = line.startsWith('-') ? hunk.removed : hunk.added
      side.lines.push(line.slice(1))
    }
    hunks.push(hunk)
  }
  return hunks
}
