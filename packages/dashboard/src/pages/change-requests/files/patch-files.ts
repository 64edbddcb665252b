/** A patch of many files, read file by file: where each begins and what its header says at once, its lines when they are needed. */
import { type FileDiffMetadata, processFile } from '@pierre/diffs'

export interface PatchFile {
  header: PatchHeader
  hasLines: boolean
  /** With its lines: some milliseconds for ten thousand of them. */
  read: () => FileDiffMetadata | null
}

/** Of its content before and after; a file whose content stays has none. */
export type PatchHeader = Pick<FileDiffMetadata, 'prevObjectId' | 'newObjectId'>

/** By name. `cacheKeyPrefix` names the two sides that are compared. */
export function patchFiles(patch: string, cacheKeyPrefix: string): Map<string, PatchFile> {
  const found = new Map<string, PatchFile>()
  const start = 'diff --git '
  // A line of a file begins with a sign of its own, so a line that begins like this is git's.
  let from = patch.startsWith(start) ? 0 : patch.indexOf(`\n${start}`) + 1
  while (from < patch.length && patch.startsWith(start, from)) {
    const next = patch.indexOf(`\n${start}`, from)
    const to = next === -1 ? patch.length : next + 1
    const lines = patch.indexOf('\n@@ ', from)
    const hasLines = lines !== -1 && lines < to
    const header = headerOf(patch.slice(from, hasLines ? lines + 1 : to))
    const [begin, cacheKey] = [from, `${cacheKeyPrefix}-${found.size}`]
    if (header !== undefined)
      found.set(header.name, {
        header,
        hasLines,
        read: () => processFile(patch.slice(begin, to), { isGitDiff: true, cacheKey }) ?? null,
      })
    from = to
  }
  return found
}

/** As git writes it where nothing is odd about the name; thousands of these are read before anything is drawn. */
const plain =
  /^diff --git [^\n"]*\n(?:(?:new file|deleted file) mode \d+\n)?index ([0-9a-f]+)\.\.([0-9a-f]+)(?: \d+)?\n--- (?:a\/([^\t\r\n"]+)|\/dev\/null)\n\+\+\+ (?:b\/([^\t\r\n"]+)|\/dev\/null)\n$/

function headerOf(text: string): (PatchHeader & { name: string }) | undefined {
  const [, prevObjectId, newObjectId, before, after] = plain.exec(text) ?? []
  const name = after ?? before
  if (name !== undefined) return { name, prevObjectId: prevObjectId!, newObjectId: newObjectId! }
  return processFile(text, { isGitDiff: true })
}
