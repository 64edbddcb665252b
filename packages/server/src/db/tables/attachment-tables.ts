import type { Now } from './columns.ts'

export interface AttachmentTables {
  session_attachments: {
    attachment_id: string
    session_id: string
    prompt_id: string
    position: number
    name: string
    content_type: string
    bytes: number
    content: Buffer
    created_at: Now
  }
}
