import type { Default, Now, Timestamp } from './columns.ts'

export interface UsageTables {
  accounts: {
    account_id: string
    name: string
    plan: 'free' | 'pro' | 'team' | 'selfhost'
    model_tokens_per_month: number | null
    created_at: Now
  }
  model_usage: {
    account_id: string
    project_id: string
    session_id: string
    day: string
    model: string
    calls: number
    tokens_in: number
    tokens_out: number
  }
  model_upstream: {
    singleton: Default<boolean>
    revision: string
    url: string
    shape: 'openai' | 'anthropic'
    models: string[]
    data_key: Buffer | null
    sealed_key: Buffer | null
    updated_by: string | null
    updated_at: Timestamp
  }
  model_reservations: {
    reservation_id: string
    account_id: string
    project_id: string
    session_id: string
    instance_id: string
    model: string
    tokens_in: number
    tokens_out: number
    created_at: Now
  }
  agent_session_starts: { root_session_id: string; project_id: string; began_at: Now; started: number }
  deleted_sandboxes: {
    sandbox_id: string
    account_id: string
    project_id: string
    session_id: string
    began_at: Timestamp
    ended_at: Timestamp
  }
}
