import type { ChangeRequest } from '@svc/sdk'
import { at, ids, sha } from './ids.ts'

export const aChangeRequest = (changes: Partial<ChangeRequest> = {}): ChangeRequest => ({
  cr_id: ids.cr,
  account_id: ids.account,
  project_id: ids.project,
  number: 3,
  title: 'Add a greeting',
  description: '',
  base_ref: 'main',
  head_ref: 'greeting',
  status: 'open',
  head_commit_sha: sha('a'),
  base_commit_sha: sha('b'),
  missing_ref: null,
  origin_session_id: null,
  created_by: ids.user,
  merged_at: null,
  merged_by: null,
  merge_commit_sha: null,
  closed_at: null,
  closed_by: null,
  metadata: {},
  created_at: at(180),
  updated_at: at(120),
  ...changes,
})
