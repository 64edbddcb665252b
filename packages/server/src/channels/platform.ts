/** The interface of a chat platform. To add one, implement it and add its name to the contract. */
import type { Incoming } from './ingress/incoming.ts'
import type { Message } from './outbox/message.ts'

export interface ChatCredentials {
  botToken: string
  signingSecret: string
}

export interface SignedRequest {
  headers: Headers
  body: Buffer
}

export type Identified =
  | {
      kind: 'identified'
      workspaceId: string
      workspaceName: string
      botUserId: string
      botName: string
      conversationName: string
      sharedExternally: boolean
    }
  /** The input that is wrong, with a reason for the user. */
  | { kind: 'refused'; about: 'bot_token' | 'conversation_id'; reason: string; hint: string }
  | { kind: 'unavailable'; reason: string }

export type FoundPerson =
  | {
      kind: 'person'
      name: string
      email: string | null
      workspaceId: string
      /** Neither a guest, an app nor a deactivated user. */
      isFullMember: boolean
    }
  | { kind: 'unknown'; reason: string }
  | { kind: 'unavailable'; reason: string }

export interface Outgoing {
  conversationId: string
  threadId: string | null
  /** Edits this message instead of posting another. */
  externalId: string | null
  /** Posts an ephemeral message to this user. */
  recipient: string | null
  message: Message
}

export type Sent =
  | { kind: 'sent'; externalId: string }
  /** A retry may succeed. `afterMs` is the delay that the platform asks for. */
  | { kind: 'later'; reason: string; afterMs: number | null }
  /** The platform rejects this message for good. */
  | { kind: 'refused'; reason: string }
  /** The platform rejects every message of this channel until someone repairs it. */
  | { kind: 'broken'; reason: string }

export interface ChatPlatform {
  /** Whether the holder of the secret signed this request recently. Runs in constant time and before anything of the request is parsed. */
  isSigned(request: SignedRequest, signingSecret: string, now: Date): boolean
  read(endpoint: 'events' | 'interactions', request: SignedRequest): Incoming
  /** The plain text of a message, and whether it mentions the bot. */
  readText(raw: string, botUserId: string): { text: string; mentionsBot: boolean }
  identify(credentials: ChatCredentials, conversationId: string): Promise<Identified>
  person(credentials: ChatCredentials, userId: string): Promise<FoundPerson>
  send(credentials: ChatCredentials, outgoing: Outgoing): Promise<Sent>
  /** The manifest for the platform's "create an app from a manifest". */
  appManifest(urls: { events: string; interactions: string }): Record<string, unknown>
}
