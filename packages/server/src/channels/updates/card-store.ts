import { sql } from 'kysely'
import { isAmong } from '../../db/live-project.ts'
import { isAtHome } from '../../db/home.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { CardFacts } from '../outbox/message.ts'
import type { ChannelRow } from '../store.ts'
import { updateRows, upsertRow } from '../../db/rows.ts'

/** A poll takes a few of all channels, so that a large server polls at the rate of a small one. */
const channelsAtOnce = 50

/** Claims the channels of these projects, those to poll at once, and of `all` those whose last poll is older than the interval. */
export async function channelsToPoll(
  db: DbOrTransaction,
  input: {
    changed: ReadonlySet<string> | 'all'
    managedSeconds: number
    externalSeconds: number
    home: string | null
  },
) {
  const { changed, managedSeconds, externalSeconds } = input
  const isOld = sql`c.looked_at < now() - make_interval(secs =>
    (case when p.managed then ${managedSeconds}::float8 else ${externalSeconds}::float8 end))`
  const limit = changed === 'all' ? channelsAtOnce : null
  const { rows } = await sql<ChannelRow>`
    update channels set looked_at = now() where channel_id in (
      select c.channel_id from channels c join projects p on p.project_id = c.project_id
      where p.deleted_at is null and ${isAtHome(sql.ref('p.project_id'), input.home)}
        and (c.looked_at is null or ${changed === 'all' ? isOld : isAmong(sql.ref('c.project_id'), changed)})
      order by c.looked_at nulls first limit ${limit}::integer for update of c skip locked)
    returning *`.execute(db)
  return rows
}

export interface CardCandidate {
  cr_id: string
  /** The thread of the session that opened it, if it is in this channel. */
  thread_key: string | null
  compared: string | null
  facts: CardFacts | null
  told: string | null
}

const candidatesMax = 200

/** Open change requests and those that ended within a day, but none that ended before the channel was connected. */
export async function cardCandidates(db: DbOrTransaction, channel: ChannelRow, input: { wholeProject: boolean }) {
  const { rows } = await sql<CardCandidate>`
    select cr.cr_id, t.thread_key, card.compared, card.facts, card.told
    from change_requests cr
    left join channel_cards card on card.channel_id = ${channel.channel_id} and card.cr_id = cr.cr_id
    left join channel_threads t on t.channel_id = ${channel.channel_id} and t.session_id = cr.origin_session_id
    where cr.project_id = ${channel.project_id}
      and (cr.status = 'open' or cr.updated_at > now() - interval '1 day')
      and (card.cr_id is not null or t.thread_id is not null
        or (${input.wholeProject} and cr.updated_at >= ${channel.created_at}::timestamptz))
    order by cr.number desc limit ${candidatesMax}`.execute(db)
  return rows
}

export function saveCard(
  db: DbOrTransaction,
  card: { channel_id: string; cr_id: string; compared: string | null; facts: CardFacts | null; told: string | null },
): Promise<void> {
  const facts = card.facts === null ? null : JSON.stringify(card.facts)
  return upsertRow(db, 'channel_cards', { ...card, facts }, 'channel_id', 'cr_id')
}

/** The next poll, which is due immediately, renders the card again. */
export async function invalidateCard(db: DbOrTransaction, channelId: string, crId: string): Promise<void> {
  await updateRows(db, 'channel_cards', { channel_id: channelId, cr_id: crId }, { told: null })
  await updateRows(db, 'channels', { channel_id: channelId }, { looked_at: null })
}
