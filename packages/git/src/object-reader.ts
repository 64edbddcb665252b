import { isSha, type Repository, type Sha } from './repository.ts'
import { askStanding, type StandingKind } from './standing.ts'

/** Objects by a git that stays: a twentieth of a millisecond each, where starting one costs two. */

const reader: StandingKind = { name: 'objects', args: ['cat-file', '--batch-command'] }

/** Objects as they are asked for, null for one that is missing. null for all: ask a git of its own. */
async function readObjects(
  repo: Repository,
  names: string[],
): Promise<({ sha: Sha; type: string; content: Buffer } | null)[] | null> {
  const question = names.map((name) => `contents ${name}\n`).join('')
  return askStanding(repo, reader, Buffer.from(question, 'latin1'), (bytes) => splitObjects(bytes, names))
}

/** `<id> <type> <size>\n<content>\n` or `<name> missing\n`, one after the other. */
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
      throw new Error('git cat-file gave other answers than it was asked for.')
    const end = at + Number(size)
    if (bytes.length <= end) return undefined
    found.push({ sha, type, content: Buffer.from(bytes.subarray(at, end)) })
    at = end + 1
  }
  if (at !== bytes.length) throw new Error('git cat-file gave more answers than it was asked for.')
  return found
}

/** What these names stand for: null where there is nothing, or a folder. `names` are latin1, without line ends. */
export async function readBlobs(repo: Repository, names: string[]): Promise<(Buffer | null)[] | null> {
  const found = await readObjects(repo, names)
  return found && found.map((object) => (object?.type === 'blob' ? object.content : null))
}

export interface CommitFacts {
  parents: Sha[]
  /** The committer's date, in seconds. Somebody's clock: good for an order to look in, not for a proof. */
  date: number
}

/** null: one of them is not here, or is no commit, or there is nobody to ask. */
export async function readCommits(repo: Repository, shas: Sha[]): Promise<Map<Sha, CommitFacts> | null> {
  const found = await readObjects(repo, shas)
  if (found === null) return null
  const commits = new Map<Sha, CommitFacts>()
  for (const object of found) {
    if (object?.type !== 'commit') return null
    commits.set(object.sha, commitFacts(object.content))
  }
  return commits
}

function commitFacts(content: Buffer): CommitFacts {
  const end = content.indexOf('\n\n')
  const header = content.toString('latin1', 0, end === -1 ? content.length : end)
  const parents = [...header.matchAll(/^parent ([0-9a-f]+)$/gm)].map(([, sha = '']) => sha)
  const date = Number(/^committer .*> (\d+)/m.exec(header)?.[1] ?? 0)
  return { parents, date }
}
