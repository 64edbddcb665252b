/** Context around changes: loads the whole new file and derives the old one from the patch. */
import type { FileDiffLoadedFiles, FileDiffMetadata } from '@pierre/diffs'
import { useCallback, useState } from 'react'
import { api, reply } from '../../../api.ts'

/** Larger than any file in a patch. */
const bytesMax = 16 * 1024 * 1024

export function fileBytes(projectId: string, ref: string, path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return reply<unknown>(
    api.GET('/v1/projects/{projectId}/file', {
      params: { path: { projectId }, query: { ref, path } },
      headers: { accept: 'application/octet-stream' },
      parseAs: 'arrayBuffer',
      ...(signal === undefined ? {} : { signal }),
    }),
  ) as Promise<ArrayBuffer>
}

/** Loads a whole file to show more context, and keeps the error if that fails. */
export function useContextLines(projectId: string, headSha: string) {
  const [failed, setFailed] = useState<Error | null>(null)
  const load = useCallback(
    (view: FileDiffMetadata) =>
      wholeFile(projectId, headSha, view).then(
        (files) => {
          setFailed(null)
          return files
        },
        (error: Error) => {
          setFailed(error)
          throw error
        },
      ),
    [projectId, headSha],
  )
  return { load, failed }
}

/** Both sides of a changed file, with one request. */
async function wholeFile(projectId: string, headSha: string, view: FileDiffMetadata): Promise<FileDiffLoadedFiles> {
  const bytes = await fileBytes(projectId, headSha, view.name)
  if (bytes.byteLength > bytesMax) throw new Error('This file is too large to show in full.')
  // Decodes like the patch: invalid UTF-8 becomes the replacement character, and a byte order mark stays.
  const contents = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  return {
    oldFile: { name: view.prevName ?? view.name, contents: before(view, contents) },
    newFile: { name: view.name, contents },
  }
}

/** Both sides are equal between hunks, so the old file is the new one with each hunk reverted. */
export function before(view: FileDiffMetadata, after: string): string {
  const lines = after.split(/(?<=\n)/)
  const parts: string[] = []
  let next = 0
  for (const hunk of view.hunks) {
    // A hunk without lines on a side carries the number of the line before it.
    const start = hunk.additionCount === 0 ? hunk.additionStart : hunk.additionStart - 1
    parts.push(
      ...lines.slice(next, start),
      ...view.deletionLines.slice(hunk.deletionLineIndex, hunk.deletionLineIndex + hunk.deletionCount),
    )
    next = start + hunk.additionCount
  }
  return [...parts, ...lines.slice(next)].join('')
}

/** The context that git shows after a change. */
const contextLines = 3

/** The file ends with the last hunk: git shows less context only at the end of a file. */
export function showsEnd({ hunks }: FileDiffMetadata): boolean {
  const last = hunks.at(-1)
  const end = last?.hunkContent.at(-1)
  return last?.noEOFCRAdditions === true || end?.type === 'change' || (end !== undefined && end.lines < contextLines)
}
