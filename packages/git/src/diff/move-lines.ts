/** Where lines of one commit are in another one. */
import { pathText, unquotePath } from '../formats/paths.ts'
import { git } from '../process/git.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'

export interface Lines {
  path: string
  first: number
  last: number
}

const timeoutMs = 5_000
const patchBytesMax = 24 * 1024 * 1024

/**
 * The place of each range in `toSha`; null where one of its lines, or its file, changed. A renamed file is followed. It
 * compares the two trees, so neither commit has to contain the other.
 */
export async function moveLines(
  repo: Repository,
  { fromSha, toSha }: { fromSha: Sha; toSha: Sha },
  places: readonly Lines[],
  options: CallOptions = {},
): Promise<(Lines | null)[]> {
  if (fromSha === toSha || places.length === 0) return [...places]
  const args = ['diff-tree', '-r', '--patch', '--unified=0', '--no-ext-diff', '--no-textconv', '--no-color']
  const shown = ['--src-prefix=a/', '--dst-prefix=b/', '--find-renames', '-l1000', '--ignore-submodules=none']
  const { stdout, cut } = await git(repo.dir, [...args, ...shown, requireSha(fromSha), requireSha(toSha), '--'], {
    ...options,
    timeoutMs,
    bytesMax: patchBytesMax,
    overflow: 'cut',
    config: [['core.quotePath', 'false']],
  })
  // A patch that was cut may lack a change, so no line is known to be where it was.
  if (cut) return places.map(() => null)
  const changes = changesOf(stdout.toString('latin1'))
  return places.map((place) => move(place, changes.get(place.path)))
}

interface FileChange {
  /** Null for a deleted file. */
  path: string | null
  /** False for a file whose lines git did not compare. */
  hasLines: boolean
  hunks: { start: number; count: number; added: number }[]
}

function move(place: Lines, change: FileChange | undefined): Lines | null {
  if (change === undefined) return place
  if (change.path === null || !change.hasLines) return null
  let by = 0
  for (const { start, count, added } of change.hunks) {
    // A hunk that removes nothing stands after the line it names.
    const [first, last] = count === 0 ? [start + 0.5, start + 0.5] : [start, start + count - 1]
    if (first > place.last) break
    if (last >= place.first) return null
    by += added - count
  }
  return { path: change.path, first: place.first + by, last: place.last + by }
}

/** By the path before. Latin-1 text, so that paths keep their bytes. */
function changesOf(patch: string): Map<string, FileChange> {
  const found = new Map<string, FileChange>()
  let before: string | null = null
  let change: FileChange = { path: null, hasLines: true, hunks: [] }
  const lines = patch.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    if (line.startsWith('diff --git ')) {
      before = null
      change = { path: null, hasLines: true, hunks: [] }
    } else if (line.startsWith('Binary files ')) {
      // Without names git shows no lines, and neither side can be told apart here.
      change.hasLines = false
    } else if (line.startsWith('rename from ')) found.set((before = pathOf(line.slice(12))), change)
    else if (line.startsWith('rename to ')) change.path = pathOf(line.slice(10))
    else if (line.startsWith('--- ') && before === null) {
      before = sideOf(line.slice(4))
      if (before !== null) found.set(before, change)
    } else if (line.startsWith('+++ ')) change.path = sideOf(line.slice(4))
    else if (line.startsWith('@@ ')) {
      const [, start, count = '1', added = '1'] = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line) ?? []
      change.hunks.push({ start: Number(start), count: Number(count), added: Number(added) })
      at = afterLines(lines, at, Number(count) + Number(added))
    }
  }
  return found
}

/** The index of the last of a hunk's lines. The note on a missing line end is not counted in the hunk. */
function afterLines(lines: string[], at: number, count: number): number {
  let index = at
  for (let left = count; left > 0; left--) if (lines[++index]?.startsWith('\\') === true) index++
  return index
}

/** git ends a path with spaces by a tab. */
const pathOf = (printed: string) => pathText(unquotePath(printed.replace(/\t$/, '')))

function sideOf(printed: string): string | null {
  const path = pathOf(printed)
  return path === '/dev/null' ? null : path.replace(/^"?[ab]\//, (prefix) => (prefix.startsWith('"') ? '"' : ''))
}
