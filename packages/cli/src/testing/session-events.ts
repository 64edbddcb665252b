/** Events of a session as a server sends them. */
import type { SessionEvent } from '@svc/sdk'
import { aSession } from '../testing.ts'

/** Of every message that `messageEvent` makes. */
export const messageAt = aSession().created_at

type Message = Extract<SessionEvent, { type: 'message' }>['message']

export const messageEvent = (changes: Partial<Message>): SessionEvent => ({
  type: 'message',
  message: {
    message_id: 'm',
    role: 'assistant',
    created_at: messageAt,
    completed_at: null,
    error: null,
    parts: [],
    ...changes,
  },
})

export const textPart = (id: string, words: string) => ({ type: 'text' as const, id, text: words })

export const turnEvent = (status: 'busy' | 'idle' | 'error', error: string | null = null): SessionEvent => ({
  type: 'turn',
  status,
  error,
})
