import type { ManifestConnector } from '@svc/contract'
import type { JSONColumnType } from 'kysely'
import type { Default, Now, Timestamp } from './columns.ts'

/** A tool of a connector as the connector described it, cut to size and without credentials. */
export interface KnownTool {
  name: string
  title: string | null
  description: string
  input_schema: Record<string, unknown>
  read_only: boolean
}

export interface ConnectorTables {
  connectors: {
    project_id: string
    slug: string
    position: number
    definition: JSONColumnType<ManifestConnector>
    status: 'unchecked' | 'ready' | 'failed'
    error: string | null
    hint: string | null
    tools: JSONColumnType<KnownTool[]>
    checked_at: Timestamp | null
    check_due_at: Timestamp | null
    failures: Default<number>
    secrets_revision: number
  }
  connector_reconciliations: { project_id: string; sha: string | null; branch: string }
  connector_policies: {
    project_id: string
    slug: string
    tool: string
    url: string
    policy: 'allow' | 'ask' | 'block'
    decided_by: string | null
    decided_at: Now
  }
  connector_approvals: {
    approval_id: string
    project_id: string
    session_id: string | null
    slug: string
    tool: string
    url: string
    arguments: JSONColumnType<Record<string, unknown>>
    arguments_sha256: Buffer
    status: Default<'pending' | 'approved' | 'denied' | 'used'>
    requested_by: string | null
    decided_by: string | null
    decided_at: Timestamp | null
    created_at: Timestamp
    expires_at: Timestamp
  }
}
