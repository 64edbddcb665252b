import { GitError } from './git.ts'
import { pathText } from './paths.ts'

/** What `git merge-tree -z --messages` says of one merge, behind the id of its tree. */

export interface Message {
  paths: string[]
  type: string
}

/** Conflicts about folders leave no file in conflict behind; only their message names a path. */
const unstagedTypes = new Set([
  'CONFLICT(directory rename unclear split)',
  'CONFLICT(directory rename collision)',
  'CONFLICT (file in way of directory rename)',
])

/** The paths that conflict, under the names they have in the branches. `fields` follow the tree id. */
export function conflictedFiles(fields: string[]): string[] {
  const end = fields.indexOf('')
  return filesOf(fields.slice(0, end), parseMessages(fields, end + 1).messages)
}

/** `records` are `<mode> <id> <stage>\t<path>`. */
export function filesOf(records: string[], messages: Message[]): string[] {
  const staged = records.map((record) => record.slice(record.indexOf('\t') + 1))
  const conflicts = messages.filter(({ type }) => type.startsWith('CONFLICT'))
  const originals = originalNames(conflicts)
  const files = new Set(staged.map((path) => originals.get(path) ?? path))
  const addFirst = ({ paths: [first] }: Message) => first !== undefined && files.add(originals.get(first) ?? first)
  conflicts.filter(({ type }) => unstagedTypes.has(type)).forEach(addFirst)
  // git can also warn of a conflict that then dissolves; such a message counts only when nothing else explains the end.
  if (files.size === 0) conflicts.forEach(addFirst)
  return [...files].map((path) => pathText(Buffer.from(path, 'latin1'))).sort()
}

/** `<count>\0<path>…\0<type>\0<text>\0`, repeated; `next` is the first field that is none of it. */
export function parseMessages(fields: string[], start: number): { messages: Message[]; next: number } {
  const messages: Message[] = []
  let at = start
  while (at < fields.length && /^\d+$/.test(fields[at] ?? '')) {
    const count = Number(fields[at])
    const type = fields[at + 1 + count]
    if (type === undefined) throw new GitError('exit', 'git merge-tree answered with a message that is cut short.')
    messages.push({ paths: fields.slice(at + 1, at + 1 + count), type })
    at += count + 3
  }
  return { messages, next: at }
}

/** Where a file and a directory, or two kinds of file, want one name, git moves one aside to `path~label`. */
function originalNames(conflicts: Message[]): Map<string, string> {
  const originals = new Map<string, string>()
  for (const { type, paths } of conflicts) {
    const [first, ...others] = paths
    if (first === undefined) continue
    if (type === 'CONFLICT (file/directory)' && others[0] !== undefined) originals.set(first, others[0])
    if (type === 'CONFLICT (distinct modes)')
      for (const other of others) if (other.startsWith(`${first}~`)) originals.set(other, first)
  }
  return originals
}
