import type { Role, SignInWay } from '@svc/contract'
import type { Default, Now, Timestamp } from './columns.ts'

export interface AccountTables {
  users: { user_id: string; name: string; email: string | null; created_at: Now }
  account_members: { account_id: string; user_id: string; role: Role; created_at: Now }
  user_passwords: { user_id: string; hash: string; changed_at: Timestamp }
  owner_links: { sha256: Buffer; user_id: string; expires_at: Timestamp; used_at: Timestamp | null }
  dashboard_sessions: {
    sha256: Buffer
    user_id: string
    created_at: Now
    expires_at: Timestamp
    dashboard_session_id: Default<string>
    began_by: Default<SignInWay>
    address: string | null
    user_agent: string | null
    last_used_at: Timestamp | null
    confirmed_at: Timestamp | null
    confirmed_by: SignInWay | null
  }
  cli_logins: {
    sha256: Buffer
    challenge: string
    name: string
    user_id: string
    expires_at: Timestamp
    used_at: Timestamp | null
  }
  user_identities: { issuer: string; subject: string; user_id: string; created_at: Now; email: string | null }
  invitations: {
    invitation_id: string
    account_id: string
    email: string
    name: string
    role: Role
    sha256: Buffer | null
    admits_address: boolean
    invited_by: string | null
    created_at: Now
    expires_at: Timestamp
    accepted_at: Timestamp | null
    revoked_at: Timestamp | null
  }
  notices_seen: { user_id: string; event_id: number }
  sign_in_attempts: { attempt_id: string; email_sha256: Buffer; address: string; at: Timestamp }
  sign_in_limits: { sha256: Buffer; tries: number; allowed_at: Timestamp; expires_at: Timestamp }
  trusted_devices: { sha256: Buffer; user_id: string; created_at: Now; expires_at: Timestamp }
}
