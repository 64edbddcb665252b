/** What a chat platform has to do for the service. A second one is a second file that makes one of these, and its name in the contract. */
import type { Incoming } from './incoming.ts'
import type { Message } from './message.ts'

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
  /** Which of the given things is wrong, in words for the person who gave it. */
  | { kind: 'refused'; about: 'bot_token' | 'conversation_id'; reason: string; hint: string }
  | { kind: 'away'; reason: string }

export type FoundPerson =
  | {
      kind: 'person'
      name: string
      email: string | null
      workspaceId: string
      /** Neither a guest, nor an app, nor somebody who left. */
      isFullMember: boolean
    }
  | { kind: 'unknown'; reason: string }
  | { kind: 'away'; reason: string }

export interface Outgoing {
  conversationId: string
  threadId: string | null
  /** Edits this one instead of writing another. */
  externalId: string | null
  /** For this person's eyes alone. */
  recipient: string | null
  message: Message
}

export type Sent =
  | { kind: 'sent'; externalId: string }
  /** Worth another try; `afterMs` is the platform's own word for when. */
  | { kind: 'later'; reason: string; afterMs: number | null }
  /** This message will never be taken. */
  | { kind: 'refused'; reason: string }
  /** Nothing of this channel will be taken until somebody mends it. */
  | { kind: 'broken'; reason: string }

export interface ChatPlatform {
  /** Whether whoever holds the secret made this request, lately. In constant time, and before anything of it is read. */
  isSigned(request: SignedRequest, signingSecret: string, now: Date): boolean
  read(door: 'events' | 'interactions', request: SignedRequest): Incoming
  /** A message's text as a person means it, and whether it speaks to the bot. */
  words(raw: string, botUserId: string): { text: string; mentionsBot: boolean }
  identify(credentials: ChatCredentials, conversationId: string): Promise<Identified>
  person(credentials: ChatCredentials, userId: string): Promise<FoundPerson>
  send(credentials: ChatCredentials, outgoing: Outgoing): Promise<Sent>
  /** For the platform's "create an app from a manifest". */
  appManifest(urls: { events: string; interactions: string }): Record<string, unknown>
}
