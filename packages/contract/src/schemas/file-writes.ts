/** Reads from a stored tool call which lines it wrote into which files. Loads no zod: the server and the pages use it. */
import type { MessagePart } from '../api.gen.ts'
import { isRecord, parseJson } from '../json.ts'

type ToolPart = Extract<MessagePart, { type: 'tool' }>
export type StoredCall = Pick<ToolPart, 'tool' | 'status' | 'title' | 'input' | 'diff'>

export interface FileWrite {
  /** As the repository names it. */
  path: string
  /** `whole`: the call wrote the whole file. `edit`: it replaced lines. `cut`: the call is stored in part. */
  kind: 'whole' | 'edit' | 'cut'
  /** Without indentation: the runtime stores the diff of an edit without the indentation that its lines share. */
  removed: string[]
  added: string[]
}

/** The tools of the runtime that write files. */
export const writingTools = ['edit', 'write', 'multiedit', 'patch', 'apply_patch']
const workspace = '/workspace/'
const cutMark = '… cut here'

/** The files that a call wrote, in its order. None for a failed call. */
export function fileWritesOf(call: StoredCall): FileWrite[] {
  if (call.status !== 'completed' || !writingTools.includes(call.tool)) return []
  const input = parseJson(call.input)
  if (!isRecord(input)) return cutWrite(call)
  if (typeof input['patchText'] === 'string') return writesOfPatch(input['patchText'])
  if (typeof input['filePath'] !== 'string') return []
  const path = repositoryPath(input['filePath'])
  if (call.tool === 'write')
    return typeof input['content'] === 'string'
      ? [{ path, kind: 'whole', removed: [], added: linesOf(input['content']) }]
      : []
  if (call.diff === undefined) return [{ path, kind: 'cut', removed: [], added: [] }]
  return [{ path, ...linesOfDiff(call.diff) }]
}

/** The runtime takes absolute paths, and others as below the work tree. */
export function repositoryPath(path: string): string {
  return path.startsWith(workspace) ? path.slice(workspace.length) : path.replace(/^\.\//, '')
}

/** How lines are compared. */
export const comparable = (line: string) => line.trim()

/** Lines such as a brace are in most files, so alone they say nothing about their writer. */
export const isTelling = (comparableLine: string) => /[\p{L}\p{N}]/u.test(comparableLine)

const linesOf = (text: string) => text.replace(/\n$/, '').split('\n').map(comparable)

/** The input was cut, so it is no JSON. Its beginning still names the file. */
function cutWrite({ input }: StoredCall): FileWrite[] {
  const [, quoted] = /"filePath":("(?:[^"\\]|\\.){1,4096}")/.exec(input.slice(0, 8_192)) ?? []
  const path: unknown = quoted === undefined ? null : parseJson(quoted)
  return typeof path === 'string' ? [{ path: repositoryPath(path), kind: 'cut', removed: [], added: [] }] : []
}

function linesOfDiff(diff: string): Pick<FileWrite, 'kind' | 'removed' | 'added'> {
  const found = { kind: 'edit' as FileWrite['kind'], removed: [] as string[], added: [] as string[] }
  const lines = diff.split('\n')
  if (lines.at(-1) === cutMark) {
    found.kind = 'cut'
    // The line before the mark may be cut itself.
    lines.splice(-2)
  }
  const begin = lines.findIndex((line) => line.startsWith('@@'))
  for (const line of begin === -1 ? [] : lines.slice(begin)) takeLine(found, line)
  return found
}

function takeLine({ removed, added }: Pick<FileWrite, 'removed' | 'added'>, line: string): void {
  if (line.startsWith('+')) added.push(comparable(line.slice(1)))
  else if (line.startsWith('-')) removed.push(comparable(line.slice(1)))
}

const section = /^\*\*\* (Add|Update|Delete) File: (.+)$/
const moved = /^\*\*\* Move to: (.+)$/

/** A patch in the format of the runtime's patch tool. */
function writesOfPatch(patch: string): FileWrite[] {
  const writes: FileWrite[] = []
  for (const line of patch.split('\n')) {
    const [, verb, path] = section.exec(line) ?? []
    const target = moved.exec(line)?.[1]
    const last = writes.at(-1)
    if (path !== undefined)
      writes.push({
        path: repositoryPath(path.trim()),
        kind: verb === 'Update' ? 'edit' : 'whole',
        removed: [],
        added: [],
      })
    else if (target !== undefined && last !== undefined) last.path = repositoryPath(target.trim())
    else if (last !== undefined && !line.startsWith('***')) takeLine(last, line)
  }
  return writes
}
