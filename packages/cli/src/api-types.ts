/** The objects of the API by the names that commands use: types only, so that no schema is loaded. */
import type { Session } from '@svc/sdk'

export type {
  Account,
  App,
  AppDeploy,
  AppLog,
  AuditEvent as AuditRow,
  ChangeRequest,
  ChangeRequestChecks as Checks,
  Channel,
  ChannelLink,
  Member,
  MergePreview,
  Message,
  MessagePart,
  Project,
  ProjectDeletion,
  ProjectEvent,
  ProjectUsage,
  Prompt,
  Question,
  Review,
  Session,
  SessionEvent,
  StartPhase as Phase,
  Token,
  UnfinishedWork,
  Usage,
  Webhook,
  WebhookDelivery,
} from '@svc/sdk'
export type SessionStatus = Session['status']
