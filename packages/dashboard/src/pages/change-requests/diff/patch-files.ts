/** Parses a patch of many files: the headers at once, the lines of a file on demand. */
import { type FileDiffMetadata, processFile } from '@pierre/diffs'

export interface PatchFile {
  header: PatchHeader
  hasLines: boolean
  /** Parses the lines: some milliseconds for ten thousand of them. */
  read: () => FileDiffMetadata | null
}

/** The blob ids before and after, absent when the content is unchanged, and the file modes, both only when they differ. */
export type PatchHeader = Pick<FileDiffMetadata, 'prevObjectId' | 'newObjectId' | 'prevMode' | 'mode'>

/** By file name. `cacheKeyPrefix` identifies the compared commits. */
export function patchFiles(patch: string, cacheKeyPrefix: string): Map<string, PatchFile> {
  const found = new Map<string, PatchFile>()
  const start = 'diff --git '
  // Lines of file content start with a sign, so a line that starts like this is a header.
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

/** The common form of a header, without quoted names. It is fast, because thousands are parsed before the first render. */
const plain =
  /^diff --git [^\n"]*\n(?:(?:new file|deleted file) mode \d+\n)?index ([0-9a-f]+)\.\.([0-9a-f]+)(?: \d+)?\n--- (?:a\/([^\t\r\n"]+)|\/dev\/null)\n\+\+\+ (?:b\/([^\t\r\n"]+)|\/dev\/null)\n$/

function headerOf(text: string): (PatchHeader & { name: string }) | undefined {
  const [, prevObjectId, newObjectId, before, after] = plain.exec(text) ?? []
  const name = after ?? before
  if (name !== undefined) return { name, prevObjectId: prevObjectId!, newObjectId: newObjectId! }
  return processFile(text, { isGitDiff: true })
}
