/** A claimed event of a chat, and what a handler makes of it. */
import type { MergeDeps } from '../../change-requests/merge/merge.ts'
import type { Deps } from '../../deps.ts'
import type { ChannelRow } from '../store.ts'
import type { EventRow } from './inbox-store.ts'
import type { ChannelPayload } from './incoming.ts'

export type EventDeps = MergeDeps &
  Pick<Deps, 'instanceId' | 'heartbeat' | 'sessions' | 'warm' | 'feed' | 'disk' | 'sandboxes' | 'randomBytes'>

export interface ChannelEvent<P = ChannelPayload> {
  channel: ChannelRow
  row: EventRow
  payload: P
}

/** `later` is retried. */
export type EventOutcome = { kind: 'done' } | { kind: 'refused'; reason: string } | { kind: 'later'; reason: string }
