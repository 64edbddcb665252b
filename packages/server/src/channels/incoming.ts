/** What a platform's request says, whichever platform it is. */

export type Incoming =
  /** A question whether anybody is here; it is answered with that text. */
  | { kind: 'challenge'; answer: string }
  | { kind: 'nothing'; why: string }
  | ({ kind: 'message' } & IncomingMessage)
  | ({ kind: 'press' } & IncomingPress)

interface FromPerson {
  conversationId: string
  /** The platform's name of this delivery: the same when it delivers again. */
  deliveryId: string
  /** What it tells of: the same when two deliveries tell of one thing. */
  subjectId: string
  threadKey: string
  author: { workspaceId: string; userId: string }
}

export interface IncomingMessage extends FromPerson {
  /** As the platform writes it. */
  raw: string
  /** Within a thread that was there before it. */
  isReply: boolean
}

export interface IncomingPress extends FromPerson {
  action: 'merge'
  value: string
}

/** As it is kept until it was worked off. */
export type ChannelPayload =
  | { kind: 'prompt'; author: FromPerson['author']; text: string }
  | { kind: 'command'; author: FromPerson['author']; command: 'link' | 'help' }
  /** `thread_key`: where the button was; the row itself waits for no thread. */
  | { kind: 'action'; author: FromPerson['author']; thread_key: string; cr_id: string; head_sha: string }
