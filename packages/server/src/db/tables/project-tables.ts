import type { Manifest, ManifestIssue } from '@svc/contract'
import type { JSONColumnType } from 'kysely'
import type { Default, Json, Now, Timestamp } from './columns.ts'

export interface ProjectTables {
  projects: {
    project_id: string
    account_id: string
    slug: string
    name: string
    repo_url: string
    default_branch: string
    managed: boolean
    config_dir: Default<string>
    settings: Json
    next_cr_number: Default<number>
    data_key: Buffer
    data_key_wrapped_by: string | null
    git_username: string | null
    git_token: Buffer | null
    ssh_public_key: string | null
    secrets_revision: Default<number>
    created_at: Now
    updated_at: Now
    deleted_at: Timestamp | null
    deleted_by: string | null
    deleted_slug: string | null
    purge_at: Timestamp | null
    restored_at: Timestamp | null
  }
  default_branches: {
    project_id: string
    branch: string
    sha: string | null
    manifest: JSONColumnType<Manifest>
    issues: JSONColumnType<ManifestIssue[]>
    moved_at: Timestamp
    checked_at: Timestamp
  }
  project_looks: { project_id: string; looked_at: Timestamp; wanted_at: Timestamp }
  host_webhooks: {
    project_id: string
    secret: Buffer
    created_at: Now
    last_call_at: Timestamp | null
    last_sender: string | null
  }
}
