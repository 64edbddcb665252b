import { GitError } from '../process/git.ts'
import { pathText } from './paths.ts'
import { isSha, type Sha } from '../repository.ts'
import { CooperativeYield } from './cooperative-yield.ts'

/** Parses the output of `git merge-tree -z --messages` after the id of the tree. */

export interface Message {
  paths: string[]
  type: string
}

/** Conflicts about folders leave no file in conflict; only their message names a path. */
const unstagedTypes = new Set([
  'CONFLICT(directory rename unclear split)',
  'CONFLICT(directory rename collision)',
  'CONFLICT (file in way of directory rename)',
])

/** The conflicting paths, under their names in the branches. `fields` follow the tree id. */
export async function conflictedFiles(fields: string[]): Promise<string[]> {
  const end = fields.indexOf('')
  return filesOf(fields.slice(0, end), await parseMessages(fields.slice(end + 1)))
}

/** `records` are `<mode> <id> <stage>\t<path>`. */
export async function filesOf(records: string[], messages: Message[]): Promise<string[]> {
  const yields = new CooperativeYield()
  const conflicts = messages.filter(({ type }) => type.startsWith('CONFLICT'))
  const originals = originalNames(conflicts)
  const files = new Set<string>()
  for (const record of records) {
    const path = record.slice(record.indexOf('\t') + 1)
    files.add(originals.get(path) ?? path)
    if (yields.isDue) await yields.next()
  }
  const addFirst = ({ paths: [first] }: Message) => first !== undefined && files.add(originals.get(first) ?? first)
  conflicts.filter(({ type }) => unstagedTypes.has(type)).forEach(addFirst)
  // git can also warn of a conflict that then resolves; such a message counts only when nothing else explains the
  // exit code.
  if (files.size === 0) conflicts.forEach(addFirst)
  const texts: string[] = []
  for (const path of files) {
    texts.push(pathText(Buffer.from(path, 'latin1')))
    if (yields.isDue) await yields.next()
  }
  return texts.sort()
}

/** `<count>\0<path>…\0<type>\0<text>\0`, repeated, up to the first field of another kind. */
export async function parseMessages(fields: string[]): Promise<Message[]> {
  const yields = new CooperativeYield()
  const messages: Message[] = []
  for (let at = 0; /^\d+$/.test(fields[at] ?? '');) {
    if (yields.isDue) await yields.next()
    const count = Number(fields[at])
    const type = fields[at + 1 + count]
    if (type === undefined) throw new GitError('exit', 'git merge-tree printed a truncated message.')
    messages.push({ paths: fields.slice(at + 1, at + 1 + count), type })
    at += count + 3
  }
  return messages
}

/** One result of `git merge-tree --stdin -z --messages`. */
export interface StreamedResult {
  isClean: boolean
  treeSha: Sha
  /** `<mode> <id> <stage>\t<path>` of the files in conflict. */
  records: string[]
  /** The input of parseMessages(). */
  messageFields: string[]
  /** The index of the first field after it. */
  next: number
}

/**
 * The result that begins at `at`: `<0: conflicts, 1: clean>\0`, the output of a single merge, and an empty field.
 * null: it is incomplete; the last field may be truncated.
 */
export function readStreamed(fields: string[], at: number): StreamedResult | null {
  const complete = fields.length - 1
  const [status, treeSha = ''] = [fields[at], fields[at + 1]]
  if (at + 2 > complete) return null
  if ((status !== '0' && status !== '1') || !isSha(treeSha))
    throw new GitError('exit', 'git merge-tree gave other results than it was asked for.')
  const end = fields.indexOf('', at + 2)
  if (end === -1 || end >= complete) return null
  for (let next = end + 1; next < complete; next += Number(fields[next]) + 3) {
    if (fields[next] === '') {
      const records = fields.slice(at + 2, end)
      return { isClean: status === '1', treeSha, records, messageFields: fields.slice(end + 1, next), next: next + 1 }
    }
    if (!/^\d{1,9}$/.test(fields[next] ?? ''))
      throw new GitError('exit', 'git merge-tree gave other results than it was asked for.')
  }
  return null
}

/** When a file and a directory, or two kinds of file, have the same name, git moves one to `path~label`. */
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
