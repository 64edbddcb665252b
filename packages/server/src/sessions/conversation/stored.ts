/** The database knows more of a conversation than the runtime's messages say. A server that continues to follow it reads that. */
import type { Attachment, Message } from '@svc/contract'
import type { Db } from '../../db/schema.ts'
import { attachmentsOfSession } from '../attachments/store.ts'
import { failuresOf } from './message-store.ts'

export interface StoredConversation {
  attachments: Attachment[]
  /** The reasons of failed turns, by their last message. */
  failures: Pick<Message, 'message_id' | 'error' | 'error_code'>[]
}

export async function readStored(db: Db, sessionId: string): Promise<StoredConversation> {
  return { attachments: await attachmentsOfSession(db, sessionId), failures: await failuresOf(db, sessionId) }
}
