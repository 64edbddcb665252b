/** Removes backups of a place that someone names. Needs neither a key nor the data of the server. */
import { type RemovalRefused, type RemovalReport, unfinishedBackup } from '@svc/contract/daemon/operator-reports'
import { quote } from '@svc/contract/shell-words'
import type { Config } from '../config.ts'
import { StartupError } from '../startup/startup-error.ts'
import { listBackups, lockPlace, noBackupIn, readHeader, removeManifests, removeUnneeded } from './catalog.ts'
import { newestAmong } from './complete.ts'
import { openPlace } from './place/open.ts'
import { isDatedAhead } from './retention.ts'

interface RemoveInput {
  place: string
  /** `unfinishedBackup` removes no backup, only what goes with each removal. */
  ids: string[]
  /** Also where no complete backup stays. */
  acceptLoss: boolean
}

type OnProgress = (progress: { phase: 'waiting'; name: string; done: number; of: number }) => void

export async function removeBackups(
  config: Pick<Config, 'objectStore'>,
  { place: address, ids: asked, acceptLoss }: RemoveInput,
  onProgress: OnProgress,
): Promise<RemovalReport | RemovalRefused> {
  const place = await openPlace(address, config)
  if (place.isOneFile)
    throw new StartupError(`${place.address} is one file with one backup. To remove it, delete the file.`)
  if ((await readHeader(place)) === null) throw new StartupError(`${await noBackupIn(place)} Nothing was changed.`)
  const lock = await lockPlace(place, (name) => onProgress({ phase: 'waiting', name, done: 0, of: 1 }))
  try {
    const all = await listBackups(place)
    const named = asked.filter((id) => id !== unfinishedBackup)
    requireAll(place.address, { named, all })
    const staying = all.filter((id) => !named.includes(id))
    const now = Date.now()
    const isSafe = acceptLoss || named.length === 0
    const newest = isSafe
      ? null
      : await newestAmong(
          place,
          staying.filter((id) => !isDatedAhead(id, now)),
        )
    if (!isSafe && (newest?.complete ?? null) === null) return { place: place.address, staying }
    await lock.requireHeld()
    await removeManifests(place, named)
    const { bytes, damaged } = await removeUnneeded(place)
    return { place: place.address, removed: named, freed_bytes: bytes, backups: staying.length, damaged }
  } finally {
    await lock.release()
  }
}

function requireAll(address: string, { named, all }: { named: string[]; all: string[] }): void {
  const absent = named.filter((id) => !all.includes(id)).join(', ')
  if (absent === '') return
  throw new StartupError(
    all.length === 0
      ? `${address} has no backup yet, so it has no ${absent}. To remove what an interrupted one left: svc self-host backups ${quote(address)} --remove ${unfinishedBackup}. Nothing was changed.`
      : `${address} has no backup ${absent}. It has: ${all.join(', ')}. Nothing was changed.`,
  )
}
