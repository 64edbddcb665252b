import type { Default, Now, Timestamp } from './columns.ts'

export interface CredentialTables {
  tokens: {
    token_id: string
    sha256: Buffer
    name: string
    user_id: string
    project_id: string | null
    session_id: string | null
    generation: number | null
    expires_at: Timestamp | null
    revoked_at: Timestamp | null
    created_at: Now
    last_used_at: Timestamp | null
    minted_by: string | null
    mints_once: Default<boolean>
  }
  sandbox_credentials: {
    credential_id: string
    kind: 'service' | 'clone' | 'model'
    sha256: Buffer
    project_id: string
    session_id: string
    sandbox_id: string
    generation: number
    user_id: string
    expires_at: Timestamp | null
    revoked_at: Timestamp | null
    created_at: Now
  }
  kept_secrets: {
    project_id: string
    sealed_sha256: Buffer
    name: string
    version: number
    sealed: Buffer
    kept_at: Now
  }
  given_secrets: { session_id: string; project_id: string; sealed_sha256: Buffer; given_at: Now }
  secrets: {
    project_id: string
    name: string
    version: number
    sealed: Buffer
    value_bytes: number
    created_by: string | null
    created_at: Now
    updated_at: Now
  }
}
