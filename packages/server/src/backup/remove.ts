/** Removes backups of a place that someone names. Needs neither a key nor the data of the server. */
import type { RemovalRefused, RemovalReport } from '@svc/contract/daemon/operator-reports'
import type { Config } from '../config.ts'
import { StartupError } from '../startup/startup-error.ts'
import { listBackups, lockPlace, noBackupIn, readHeader, removeManifests, removeUnused } from './catalog.ts'
import { newestAmong } from './complete.ts'
import { openPlace } from './place/open.ts'
import { isDatedAhead } from './retention.ts'

interface RemoveInput {
  place: string
  ids: string[]
  /** Also where no complete backup stays. */
  acceptLoss: boolean
}

type OnProgress = (progress: { phase: 'waiting'; name: string; done: number; of: number }) => void

export async function removeBackups(
  config: Pick<Config, 'objectStore'>,
  { place: address, ids: named, acceptLoss }: RemoveInput,
  onProgress: OnProgress,
): Promise<RemovalReport | RemovalRefused> {
  const place = await openPlace(address, config)
  if (place.isOneFile)
    throw new StartupError(`${place.address} is one file with one backup. To remove it, delete the file.`)
  if ((await readHeader(place)) === null) throw new StartupError(`${await noBackupIn(place)} Nothing was changed.`)
  const lock = await lockPlace(place, (name) => onProgress({ phase: 'waiting', name, done: 0, of: 1 }))
  try {
    const all = await listBackups(place)
    const absent = named.filter((id) => !all.includes(id))
    if (absent.length > 0)
      throw new StartupError(
        `${place.address} has no backup ${absent.join(', ')}. It has: ${all.join(', ')}. Nothing was changed.`,
      )
    const staying = all.filter((id) => !named.includes(id))
    const now = Date.now()
    const newest = acceptLoss
      ? null
      : await newestAmong(
          place,
          staying.filter((id) => !isDatedAhead(id, now)),
        )
    if (!acceptLoss && (newest?.complete ?? null) === null) return { place: place.address, staying }
    await lock.requireHeld()
    await removeManifests(place, named)
    const damaged = await removeUnused(place)
    return { place: place.address, removed: named, backups: staying.length, damaged }
  } finally {
    await lock.release()
  }
}
