/** What the server knows about a conversation beyond the runtime's own messages, for a server that continues to follow it. */
import type { Attachment } from '@svc/contract'
import type { Db } from '../../db/schema.ts'
import { attachmentsOfSession } from '../attachments/store.ts'
import { failuresOf } from './message-store.ts'

export interface StoredConversation {
  attachments: Attachment[]
  /** The reasons of failed turns, by their last message. */
  failures: { message_id: string; error: string }[]
}

export async function readStored(db: Db, sessionId: string): Promise<StoredConversation> {
  const [attachments, failures] = [await attachmentsOfSession(db, sessionId), await failuresOf(db, sessionId)]
  return { attachments, failures }
}
