import type { JSONColumnType } from 'kysely'
import type { ChannelPayload } from '../../channels/ingress/incoming.ts'
import type { CardFacts, StoredMessage } from '../../channels/outbox/message.ts'
import type { Default, Now, Timestamp } from './columns.ts'

export interface ChannelTables {
  channels: {
    channel_id: string
    project_id: string
    account_id: string
    platform: 'slack'
    workspace_id: string
    workspace_name: string
    bot_user_id: string
    bot_name: string
    conversation_id: string
    conversation_name: string
    shared_externally: boolean
    sealed: Buffer
    version: number
    allow_unlinked: boolean
    connected_by: string | null
    error: string | null
    paused_until: Timestamp | null
    looked_at: Timestamp | null
    created_at: Now
    updated_at: Now
  }
  channel_links: {
    link_id: string
    account_id: string
    platform: 'slack'
    workspace_id: string
    workspace_name: string
    chat_user_id: string
    chat_user_name: string
    user_id: string
    created_at: Now
  }
  channel_link_codes: {
    sha256: Buffer
    channel_id: string
    workspace_id: string
    chat_user_id: string
    chat_user_name: string
    chat_user_email: string | null
    user_id: string | null
    expires_at: Timestamp
    used_at: Timestamp | null
  }
  channel_threads: {
    thread_id: string
    channel_id: string
    thread_key: string
    session_id: string | null
    started_by: string | null
    chat_user_id: string
    chat_user_name: string
    told: string | null
    created_at: Now
  }
  channel_events: {
    event_row_id: Default<number>
    channel_id: string
    delivery_id: string
    subject_id: string
    thread_key: string
    kind: 'prompt' | 'action' | 'command'
    payload: JSONColumnType<ChannelPayload>
    planned_id: string
    status: Default<'waiting' | 'done' | 'refused'>
    reason: string | null
    attempts: Default<number>
    next_try_at: Timestamp | null
    instance_id: string | null
    claimed_at: Timestamp | null
    created_at: Now
  }
  channel_messages: {
    message_id: string
    seq: Default<number>
    channel_id: string
    message_key: string
    kind: 'answer' | 'state' | 'card' | 'reply'
    thread_key: string
    thread_id: string | null
    recipient: string | null
    body: JSONColumnType<StoredMessage>
    wanted: Default<number>
    sent: Default<number>
    external_id: string | null
    attempts: Default<number>
    error: string | null
    next_try_at: Timestamp | null
    given_up_at: Timestamp | null
    instance_id: string | null
    claimed_at: Timestamp | null
    sent_at: Timestamp | null
    created_at: Now
    updated_at: Now
  }
  channel_cards: {
    channel_id: string
    cr_id: string
    compared: string | null
    facts: JSONColumnType<CardFacts> | null
    told: string | null
  }
}
