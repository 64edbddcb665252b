import type { Project, Usage } from '@svc/sdk'
import { ids } from './ids.ts'

const aModelUpstream = {
  source: 'saved' as const,
  url: 'https://models.example/v1',
  shape: 'openai' as const,
  models: ['large', 'small'],
  has_key: true,
  updated_at: '2026-03-07T10:00:00.000Z',
}

export const modelAnswers = {
  listModels: () => ({ models: ['large', 'small'].map((id, i) => ({ id, name: id, default: i === 0 })) }),
  getModelUpstream: () => aModelUpstream,
  setModelUpstream: ({ body }: { body: unknown }) => ({ ...aModelUpstream, ...(body as object), has_key: true }),
}

export const aUsage = (): Usage => ({
  from: '2026-03-01',
  to: '2026-03-07',
  models: [
    { day: '2026-03-07', project_id: ids.project, model: 'a-model', calls: 12, tokens_in: 34_567, tokens_out: 890 },
  ],
  sandboxes: [{ project_id: ids.project, session_id: ids.session, seconds: 4_000 }],
  sessions: [
    {
      ...{ project_id: ids.project, session_id: ids.session, name: 'A session', calls: 12 },
      ...{ tokens_in: 34_567, tokens_out: 890, sandbox_seconds: 4_000 },
    },
  ],
  totals: { calls: 12, tokens_in: 34_567, tokens_out: 890, sandbox_seconds: 4_000 },
  caps: [{ scope: 'account' as const, tokens: 1_000_000, tokens_taken: 35_457 }],
})

export const settings: Project['settings'] = {
  agent_merge: 'deny',
  manifest_gate: 'off',
  git_host: 'auto',
  git_api_url: null,
  model_tokens_per_session: null,
  model_tokens_per_month: null,
  session_depth_max: 3,
  session_descendants_max: 10,
  session_starts_per_hour_max: 60,
  webhook_sessions_max: 10,
  webhook_fires_per_hour_max: 120,
  quota_repository_bytes: null,
  quota_push_bytes: null,
  quota_unfinished_work_bytes: null,
  quota_transcript_bytes: null,
  quota_check_log_bytes: null,
  quota_app_archive_bytes: null,
  quota_sessions_bytes: null,
}
