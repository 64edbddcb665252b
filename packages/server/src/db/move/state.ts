/** Marks both databases of a move, so that no server ever uses the wrong one. */
import type pg from 'pg'

export interface Move {
  move_id: string
  state: 'arriving' | 'copied' | 'arrived' | 'left'
  /** The other database, without a password. */
  other: string
  changed_at: Date
}

/** The database from which a move has taken the data, or one with an unfinished copy. */
export class MovedDatabaseError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'MovedDatabaseError'
  }
}

export async function readMove(client: pg.Client): Promise<Move | null> {
  const { rows: found } = await client.query<{ found: string | null }>(`select to_regclass('database_move') as found`)
  // Tables of an earlier version do not have it.
  if (found[0]?.found == null) return null
  const { rows } = await client.query<Move>('select move_id, state, other, changed_at from database_move')
  return rows[0] ?? null
}

export async function writeMove(client: pg.Client, { move_id, state, other }: Omit<Move, 'changed_at'>): Promise<void> {
  await client.query(
    `insert into database_move (move_id, state, other) values ($1, $2, $3)
      on conflict (singleton) do update
      set move_id = excluded.move_id, state = excluded.state, other = excluded.other, changed_at = now()`,
    [move_id, state, other],
  )
}

/** Throws unless a server may work on the data of this database. */
export async function requireDataHere(client: pg.Client): Promise<void> {
  const move = await readMove(client)
  if (move === null || move.state === 'arrived') return
  if (move.state === 'left')
    throw new MovedDatabaseError(
      `The data moved from this database to ${move.other} on ${dayOf(move)}. Start the server on that one: DATABASE_URL is its address (svc self-host env set DATABASE_URL=- saves it for svc self-host start), or unset for the embedded database. If that database is lost, restore a backup into an empty folder (svc self-host restore). Nothing was changed.`,
    )
  throw new MovedDatabaseError(
    `This database has an unfinished copy of the data in ${move.other}. Run svc self-host move-database again, or start the server on that one: DATABASE_URL is its address, or unset for the embedded database. Nothing was changed.`,
  )
}

export function dayOf({ changed_at }: Move): string {
  return changed_at.toISOString().slice(0, 10)
}
