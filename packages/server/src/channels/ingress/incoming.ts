/** A platform's request in a platform-neutral form. */

export type Incoming =
  /** An endpoint check of the platform, which expects this text back. */
  | { kind: 'challenge'; answer: string }
  | { kind: 'nothing'; why: string }
  | ({ kind: 'message' } & IncomingMessage)
  | ({ kind: 'press' } & IncomingPress)

interface FromPerson {
  conversationId: string
  /** The platform's id of this delivery; a redelivery has the same one. */
  deliveryId: string
  /** Identifies the subject: two deliveries about one thing have the same one. */
  subjectId: string
  threadKey: string
  author: { workspaceId: string; userId: string }
}

export interface IncomingMessage extends FromPerson {
  /** In the platform's own markup. */
  raw: string
  /** In a thread that existed before the message. */
  isReply: boolean
}

export interface IncomingPress extends FromPerson {
  action: 'merge' | 'answer'
  value: string
}

/** Stored until the event is processed. */
export type ChannelPayload =
  | { kind: 'prompt'; author: FromPerson['author']; text: string }
  | { kind: 'command'; author: FromPerson['author']; command: 'link' | 'help' }
  /** Merge a change request. `thread_key` locates the button; the event itself waits for no thread. */
  | { kind: 'action'; author: FromPerson['author']; thread_key: string; cr_id: string; head_sha: string }
  /** Answer an agent's question. `option` is the index of the chosen option. */
  | { kind: 'answer'; author: FromPerson['author']; thread_key: string; question_id: string; option: number }
