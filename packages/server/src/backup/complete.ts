/**
 * Which backups are complete: with every repository of the server that made them. Of several servers, each can have
 * only its own, so what is at home on another one does not count.
 */
import { isDamage, readBackup } from './catalog.ts'
import type { Manifest } from './manifest.ts'
import type { Place } from './place/place.ts'

/** Repositories at home on the server that made the backup, which could not read them. */
export function lackingIn(missing: Manifest['missing']): Manifest['missing'] {
  return missing.filter(({ home }) => home === undefined)
}

export interface Newest {
  backup_id: string
  /** The projects whose repository it lacks, with the reason. Empty: it is complete. */
  lacking: string[]
  /** Projects at home on another server, with its name. */
  elsewhere: string[]
  /** The newest complete one. Null: none among the latest. */
  complete: string | null
}

/** A store charges for each read. */
const readMax = 30

/** Reads the newest of these backups (earliest first) and looks for the newest complete one. Null: there are none. */
export async function newestAmong(place: Place, ids: readonly string[]): Promise<Newest | null> {
  let newest: Newest | null = null
  for (const backup_id of ids.slice(-readMax).toReversed()) {
    const found = await contentOf(place, backup_id)
    const complete = found.lacking.length === 0 ? backup_id : null
    newest ??= { backup_id, ...found, complete }
    if (complete !== null) return { ...newest, complete }
  }
  return newest
}

async function contentOf(place: Place, backupId: string): Promise<Pick<Newest, 'lacking' | 'elsewhere'>> {
  try {
    const { missing } = await readBackup(place, backupId)
    const lacking = lackingIn(missing).map(({ project_id, slug, reason }) => `${slug ?? project_id}: ${reason}`)
    const elsewhere = missing.flatMap(({ project_id, slug, home }) =>
      home === undefined ? [] : `${slug ?? project_id} (${home})`,
    )
    return { lacking, elsewhere }
  } catch (error) {
    // A damaged manifest is no backup.
    if (!isDamage(error)) throw error
    return { lacking: [error.message], elsewhere: [] }
  }
}
