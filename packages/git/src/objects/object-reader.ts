import { isSha, type Repository, type Sha } from '../repository.ts'
import { queryPooledGit, type PooledGitKind } from '../process/pooled-git.ts'

/** Reads objects with a pooled git process: 0.05 ms each, where starting git costs 2 ms. */

const reader: PooledGitKind = { name: 'objects', args: ['cat-file', '--batch-command'] }

/** Objects in the order of `names`, null for a missing one. null for all: use a separate git process. */
async function readObjects(
  repo: Repository,
  names: string[],
): Promise<({ sha: Sha; type: string; content: Buffer } | null)[] | null> {
  const question = names.map((name) => `contents ${name}\n`).join('')
  return queryPooledGit(repo, reader, Buffer.from(question, 'latin1'), (bytes) => splitObjects(bytes, names))
}

/** Parses `<id> <type> <size>\n<content>\n` and `<name> missing\n`. */
function splitObjects(bytes: Buffer, names: string[]) {
  const found: ({ sha: Sha; type: string; content: Buffer } | null)[] = []
  let at = 0
  for (const name of names) {
    const lineEnd = bytes.indexOf(10, at)
    if (lineEnd === -1) return undefined
    const line = bytes.toString('latin1', at, lineEnd)
    at = lineEnd + 1
    if (line === `${name} missing`) {
      found.push(null)
      continue
    }
    const [sha = '', type = '', size] = line.split(' ')
    if (!isSha(sha) || !/^\d+$/.test(size ?? '') || (isSha(name) && name !== sha))
      throw new Error('git cat-file returned an object that was not requested.')
    const end = at + Number(size)
    if (bytes.length <= end) return undefined
    found.push({ sha, type, content: Buffer.from(bytes.subarray(at, end)) })
    at = end + 1
  }
  if (at !== bytes.length) throw new Error('git cat-file returned more objects than requested.')
  return found
}

/** The blobs with these names: null where there is none, or a folder. `names` are latin1, without line ends. */
export async function readBlobs(repo: Repository, names: string[]): Promise<(Buffer | null)[] | null> {
  const found = await readObjects(repo, names)
  return found && found.map((object) => (object?.type === 'blob' ? object.content : null))
}
