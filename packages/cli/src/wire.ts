/** What the service answers, as its document says it: types only, so that no schema is loaded. */
import type { components, operations } from '@svc/contract/api'

type Body<Name extends keyof operations> = operations[Name]['responses'] extends infer Responses
  ? Responses extends { 200: { content: infer Content } } | { 201: { content: infer Content } }
    ? Content[keyof Content & 'application/json']
    : never
  : never

export type App = Body<'getApp'>
export type AppDeploy = App['deploys'][number]
export type AppLog = Body<'readAppLogs'>
export type Project = Body<'getProject'>
export type Session = Body<'getSession'>
export type Channel = Body<'connectChannel'>
export type ChannelLink = Body<'linkChatUser'>
export type SessionStatus = Session['status']
export type ChangeRequest = Body<'getChangeRequest'>['change_request']
export type Checks = Body<'getChecks'>
export type Review = Body<'createReview'>
export type MergePreview = Body<'previewChangeRequest'>
export type Account = Body<'createAccount'>
export type Member = Body<'addMember'>['member']
export type Token = Body<'listUserTokens'>[number]
export type AuditRow = Body<'listAudit'>[number]
export type Usage = Body<'accountUsage'>
export type ProjectUsage = Body<'projectUsage'>
export type ProjectEvent = Body<'streamProjectEvents'>['events'][number]
export type Webhook = Body<'listWebhooks'>['webhooks'][number]
export type WebhookDelivery = Body<'listDeliveries'>['deliveries'][number]
export type SessionEvent = components['schemas']['SessionEvent']
export type Message = Body<'getTranscript'>['messages'][number]
export type MessagePart = Message['parts'][number]
export type Question = Body<'listQuestions'>['questions'][number]
export type Phase = Body<'getTimeline'>['phases'][number]
export type UnfinishedWork = Body<'getUnfinishedWork'>
