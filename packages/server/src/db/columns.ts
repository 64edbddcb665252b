/** Types of columns that the migrations do not tell; tables.gen.ts names them. */
import type {
  AppLogLine,
  CheckLogLine,
  Manifest,
  ManifestApp,
  ManifestConnector,
  ManifestIssue,
  ManifestTrigger,
  ReviewComment,
  SessionRefresh,
  TurnError,
} from '@svc/contract'
import type { ColumnType } from 'kysely'
import type { Caller, ProjectActor, UserActor } from '../auth/actor.ts'
import type { ChannelPayload } from '../channels/ingress/incoming.ts'
import type { CardFacts, StoredMessage } from '../channels/outbox/message.ts'
import type { LogPosition } from '../redaction/lines.ts'
import type { EgressInForce } from '../sandboxes/in-force.ts'
import type { InForce } from '../sessions/refresh/in-force.ts'
import type { SlotInputs } from '../triggers/slot-inputs.ts'

/** ISO text with milliseconds: db/pool.ts parses it so, and replies send it as it is. */
export type Timestamp = ColumnType<string, string | Date, string | Date>
export type Now = ColumnType<string, string | Date | undefined, string | Date>
export type Json<Column extends keyof Described> = ColumnType<Described[Column], string, string>
export type JsonOrDefault<Column extends keyof Described> = ColumnType<Described[Column], string | undefined, string>

/** A tool of a connector as the connector described it, cut to size and without credentials. */
export interface KnownTool {
  name: string
  title: string | null
  description: string
  input_schema: Record<string, unknown>
  read_only: boolean
}

export interface Described {
  'app_deploys.definition': ManifestApp
  'app_deploys.in_force': EgressInForce
  'app_deploys.log_read': LogPosition
  'app_log_chunks.lines': AppLogLine[]
  'apps.definition': ManifestApp
  'audit_events.after': unknown
  'audit_events.before': unknown
  'change_request_reviews.comments': ReviewComment[]
  'change_requests.metadata': Record<string, unknown>
  'channel_cards.facts': CardFacts
  'channel_events.payload': ChannelPayload
  'channel_messages.body': StoredMessage
  'check_log_chunks.lines': CheckLogLine[]
  'check_runs.in_force': EgressInForce
  'check_runs.log_read': LogPosition
  'connector_approvals.arguments': Record<string, unknown>
  'connectors.definition': ManifestConnector
  'connectors.tools': KnownTool[]
  'default_branches.issues': ManifestIssue[]
  'default_branches.manifest': Manifest
  'host_landings.caller': Caller<UserActor | ProjectActor>
  'idempotency_keys.body': unknown
  'merge_attempts.caller': Caller<UserActor | ProjectActor>
  'project_events.data': object
  'servers.settings': Record<string, string>
  'project_sessions.first_turn_error': TurnError
  'project_sessions.last_turn_error': TurnError
  'project_sessions.metadata': Record<string, unknown>
  'project_sessions.refresh': SessionRefresh
  'projects.settings': Record<string, unknown>
  'review_drafts.comment': ReviewComment
  'session_messages.parts': object[]
  'session_messages.role': 'user' | 'assistant'
  'session_questions.options': { value: string; label: string }[]
  'session_sandboxes.in_force': InForce
  'session_wip.notes': string[]
  'session_wip.paths': string[]
  'trigger_slots.plan': SlotInputs
  'triggers.definition': ManifestTrigger
  'warm_sandboxes.in_force': EgressInForce
  'webhooks.events': string[]
}
