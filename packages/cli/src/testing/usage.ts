import type { Project, Usage } from '@svc/sdk'

const projectId = '33333333-3333-4333-8333-333333333333'
const sessionId = '44444444-4444-4444-8444-444444444444'

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
  clearModelUpstream: () => ({ ok: true as const }),
}

export const aUsage = (): Usage => ({
  from: '2026-03-01',
  to: '2026-03-07',
  models: [
    { day: '2026-03-07', project_id: projectId, model: 'a-model', calls: 12, tokens_in: 34_567, tokens_out: 890 },
  ],
  sandboxes: [{ project_id: projectId, session_id: sessionId, seconds: 4_000 }],
  sessions: [
    {
      ...{ project_id: projectId, session_id: sessionId, name: 'A session', calls: 12 },
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
