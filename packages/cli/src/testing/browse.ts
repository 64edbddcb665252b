/** Default responses for reviews, branches, files and comparisons. */
import type { Answers } from '../testing.ts'
import { aChangeRequest } from './change-request.ts'
import { at, ids, sha } from './ids.ts'

const person = { author_name: 'Ada', author_email: 'ada@example.com' }
const aCommit = (subject: string, body = '') => ({
  ...{ sha: sha('a'), parents: [sha('b')], ...person, authored_at: at(3600), committed_at: at(3600) },
  ...{ subject, body },
})

export const aComparison = (commits = [aCommit('Add a greeting', 'It greets.')]) => ({
  ...{ base_sha: sha('b'), head_sha: sha('a'), merge_base: sha('b'), is_up_to_date: false, can_merge: true },
  ...{
    can_fast_forward: true,
    conflicts: [],
    base_ref: 'main',
    head_ref: 'greeting',
    ahead: commits.length,
    behind: 2,
  },
  commits,
  files: [{ path: 'page.html', old_path: null, status: 'modified', additions: 1, deletions: 1, binary: false }],
  ...{ files_changed: 1, additions: 1, deletions: 1, truncated: false },
})
export { aCommit }

export const aThread = (changes: object = {}) => ({
  ...{ comment_id: ids.token, state: 'open', answer: null, replies: [], resolved_at: null, resolved_by_name: null },
  ...changes,
})

export const aReview = (changes: object = {}) => ({
  ...{ review_id: ids.cr, cr_id: ids.cr, head_sha: sha('a'), body: 'Please add a test', comments: [] },
  ...{ created_by: null, created_by_name: 'Ada', session_id: null, created_at: at(3600), answer: null },
  thread: aThread(),
  ...changes,
})

/** A comment on a line that suggests another one; with a refusal, it cannot be applied. */
export const aSuggestion = (changes: object = {}, refusal: string | null = null) => ({
  ...{ path: 'a.ts', side: 'new', line: 4, start_line: null, quote: '', text: 'So:\n```suggestion\nx\n```' },
  ...{ outdated: refusal !== null, current: null, suggestion: { lines: ['x'], refusal } },
  ...aThread(changes),
})

export const browseAnswers: Answers = {
  editChangeRequest: ({ body }) => aChangeRequest(body as object),
  compareRefs: () => aComparison(),
  createReview: ({ body }) => {
    const { send: _, ...given } = body as { send?: boolean }
    const { comments = [] } = given as { comments?: object[] }
    const threads = comments.map((each) => ({ ...each, ...aThread(), outdated: false, current: null }))
    return aReview({ body: '', ...given, comments: threads, thread: threads.length === 0 ? aThread() : null })
  },
  answerComment: () => aReview({ thread: aThread({ state: 'answered' }) }),
  applySuggestions: () => ({ commit: sha('c'), change_request: aChangeRequest(), reviews: [aReview()] }),
  listReviews: () => ({ reviews: [aReview()] }),
  listBranches: () => ({
    branches: [
      { name: 'main', sha: sha('b'), is_default: true },
      { name: 'greeting', sha: sha('a'), is_default: false },
    ],
  }),
  getPassword: () => ({ email: 'ada@example.com', is_set: true }),
  listDashboardSessions: () => [
    {
      ...{ dashboard_session_id: ids.cr, began_by: 'password', address: '127.0.0.1', user_agent: 'Firefox' },
      ...{ created_at: at(3600), last_used_at: null, expires_at: at(3600), current: false },
    },
  ],
  getFile: () => ({
    ...{ ref: 'main', sha: sha('b'), path: 'a.txt', type: 'file', blob_sha: sha('c'), size: 6, binary: false },
    ...{ encoding: 'utf-8', content: 'hello\n', truncated: false },
  }),
  getSessionFiles: ({ query }) => ({
    ...{ type: 'directory', path: query.path ?? '', source: 'sandbox', saved_at: null, git: 'changed', notes: [] },
    entries: [
      { name: 'src', path: 'src', type: 'directory', size: null, git: 'changed' },
      { name: 'notes.md', path: 'notes.md', type: 'file', size: 12, git: 'new' },
    ],
    truncated: false,
  }),
  listTree: ({ query }) => ({
    ...{ ref: 'main', sha: sha('b'), path: query.path ?? '', truncated: false },
    entries: [{ name: 'main.ts', path: 'src/main.ts', type: 'file', sha: sha('c'), size: 12 }],
  }),
}
