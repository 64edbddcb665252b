/** The lines that a suggestion replaces, for a comment that came without them, such as one from the command line. */
import { isUtf8 } from 'node:buffer'
import { type ReviewComment, suggestionOf } from '@svc/contract'
import { GitError, readFileAt, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { openRepository } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'

/** As long as a client may send it. */
const quoteCharsMax = 4096

/** Deliberately silent: a review is worth more than its quotes, and the page shows a suggestion without them. */
export async function quoteSuggestions(
  deps: Parameters<typeof openRepository>[0] & Pick<Deps, 'log'>,
  { project, head_sha: sha, comments }: { project: ProjectRow; head_sha: string; comments: ReviewComment[] },
): Promise<ReviewComment[]> {
  const isBare = ({ quote, side, text }: ReviewComment) => quote === '' && side === 'new' && suggestionOf(text) !== null
  if (!comments.some(isBare)) return comments
  try {
    const repository = await openRepository(deps, project)
    const quoted: ReviewComment[] = []
    for (const each of comments)
      quoted.push(isBare(each) ? { ...each, quote: await linesAt(repository, sha, each) } : each)
    return quoted
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    deps.log.debug({ err: error }, 'the lines of suggestions were not read')
    return comments
  }
}

async function linesAt(repository: Repository, sha: string, comment: ReviewComment): Promise<string> {
  const found = await readFileAt(repository, { sha, path: comment.path })
  if (found.kind !== 'file' || found.binary || found.truncated || !isUtf8(Buffer.from(found.content))) return ''
  const lines = Buffer.from(found.content).toString('utf8').split(/\r?\n/)
  const text = lines.slice((comment.start_line ?? comment.line) - 1, comment.line).join('\n')
  return text.length > quoteCharsMax ? '' : text
}
