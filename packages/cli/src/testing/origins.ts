import { ids, sha } from './ids.ts'

const call = {
  ...{ call_id: 'prt_edit', message_id: 'msg_2', session_id: ids.session, prompt_id: 'msg_1', tool: 'edit' },
  ...{ title: 'a.ts', at: '2026-03-02T10:00:05.000Z' },
}

/** Line 3 is from an edit, line 4 from a person, and line 9 perhaps from a command. */
export const someOrigins = {
  head_sha: sha('b'),
  path: 'a.ts',
  lines: [
    { side: 'new', start: 3, end: 3, call_id: 'prt_edit', commit_sha: sha('b'), candidates: [] },
    { side: 'new', start: 4, end: 4, call_id: null, commit_sha: sha('d'), candidates: [] },
    {
      ...{ side: 'new', start: 9, end: 9, call_id: null, commit_sha: sha('b') },
      candidates: [{ call_id: 'prt_bash', reason: 'names_file' }],
    },
  ],
  calls: [call, { ...call, call_id: 'prt_bash', tool: 'bash', title: 'node make.js > a.ts' }],
  prompts: [
    {
      ...{ message_id: 'msg_1', session_id: ids.session, text: 'Add a greeting.\nPolitely.', truncated: false },
      at: '2026-03-02T10:00:00.000Z',
    },
  ],
  commits: [
    {
      ...{ sha: sha('b'), author_name: 'svc agent', subject: 'Greet', by_agent: true },
      authored_at: '2026-03-02T10:00:30.000Z',
    },
    {
      ...{ sha: sha('d'), author_name: 'Ada', subject: 'By hand', by_agent: false },
      authored_at: '2026-03-02T10:01:30.000Z',
    },
  ],
  sessions: [{ session_id: ids.session, name: 'greeting' }],
  withheld: false,
  truncated: false,
}
