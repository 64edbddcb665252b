/**
 * `svc server --move-database`: moves the data of a stopped server to another PostgreSQL, or back into the embedded one.
 * The URL comes on stdin, because other users of the machine can read arguments. Progress is lines on stderr.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MoveReport } from '@svc/contract/daemon/operator-reports'
import { requireNewestFolder } from '../backup/reach-data.ts'
import { refuseUnfinishedRestore } from '../backup/restore-mark.ts'
import type { Config } from '../config.ts'
import { dataMajor } from '../db/embedded/data.ts'
import { layTables } from '../db/migrate.ts'
import { connect, type End } from '../db/move/connect.ts'
import type { Progress } from '../db/move/copy.ts'
import { examineSource, lockSource, requireOneHome } from '../db/move/examine.ts'
import { moveData } from '../db/move/move-data.ts'
import { dayOf, readMove, writeMove } from '../db/move/state.ts'
import { isDatabaseUnavailable } from '../db/unavailable.ts'
import { startIn } from './embedded-end.ts'
import { lockDataFolder } from './folder-lock.ts'
import { recordMove, refuseToServe } from './folder-records.ts'
import {
  keepMovedDatabase,
  refuseCommandWithoutDatabase,
  refuseDataOfBefore,
  refuseMoveWithoutUrl,
} from './other-database.ts'
import { makeDataDir } from './run-dir.ts'
import { StartupError } from './startup-error.ts'

type OnProgress = (progress: Progress) => void

export async function moveDatabase(config: Config, to: string, onProgress: OnProgress): Promise<MoveReport> {
  if (to !== 'embedded' && !/^postgres(ql)?:\/\//.test(to))
    throw new StartupError('Give the URL of a PostgreSQL (postgresql://…), or the word embedded.')
  refuseUnfinishedRestore(config)
  await makeDataDir(config.dataDir)
  const folder = lockDataFolder(config.dataDir, randomUUID)
  try {
    return await reported(move(config, { to, folderId: folder.folderId, onProgress }))
  } finally {
    folder.release()
  }
}

async function move(
  config: Config,
  { to, folderId, onProgress }: { to: string; folderId: string; onProgress: OnProgress },
): Promise<MoveReport> {
  const source = await openSource(config, to)
  try {
    await lockSource(source)
    const left = await examineSource(source)
    // Otherwise the data would go to a folder that lacks repositories, and the newest one would lack them.
    if (isFromOther(config, to)) await requireNewestFolder(config, source)
    if (to === 'embedded' && left?.state !== 'left') await requireOneHome(source, folderId)
    const { end, setAside } = to === 'embedded' ? await openEmbedded(config, source) : await openExternal(to)
    try {
      const { databaseUrl, dataDir } = config
      const moved = await moveData({ from: source, to: end, left }, onProgress, async () => {
        await keepMovedDatabase(
          { dataDir, databaseUrl: to === 'embedded' ? null : to },
          { client: end.client, isOfFolder: databaseUrl === null || databaseUrl === to },
        )
        if (to === 'embedded' || !isFromOther(config, to)) await recordMove(config)
      })
      return { ...moved, set_aside: setAside }
    } finally {
      await end.close()
    }
  } finally {
    await source.close()
  }
}

/** With the new address in DATABASE_URL already, the data are still in the folder. */
function isFromOther(config: Config, to: string): config is Config & { databaseUrl: string } {
  return config.databaseUrl !== null && config.databaseUrl !== to
}

/** Where the data are. */
async function openSource(config: Config, to: string): Promise<End> {
  if (isFromOther(config, to)) {
    if (to === 'embedded') refuseToServe({ ...config, databaseUrl: null })
    return await connect(config.databaseUrl)
  }
  const { dataDir } = config
  const folder = join(dataDir, 'postgres')
  if (to === 'embedded') refuseMoveWithoutUrl(dataDir)
  if (to === 'embedded' && (await dataMajor(folder)) !== null)
    throw new StartupError(
      `DATABASE_URL is not set, so the data are in the embedded database already. Set it to the address from which they should move. Nothing was changed.`,
    )
  if ((await dataMajor(folder)) === null) {
    refuseCommandWithoutDatabase(config)
    throw new StartupError(
      `There is no database in ${dataDir}. Set SVC_DATA_DIR to the data folder of the server, or DATABASE_URL to its PostgreSQL. Nothing was changed.`,
    )
  }
  refuseToServe({ ...config, databaseUrl: null })
  const own = await startIn(folder)
  try {
    await refuseDataOfBefore(dataDir, own.client)
    return own
  } catch (error) {
    await own.close()
    throw error
  }
}

async function openExternal(url: string): Promise<{ end: End; setAside: null }> {
  return { end: await connect(url), setAside: null }
}

async function openEmbedded({ dataDir, peerUrl }: Config, from: End): Promise<{ end: End; setAside: string | null }> {
  if (peerUrl !== null)
    throw new StartupError(
      'SVC_PEER_URL is set, and the embedded database serves one server. Unset it first. Nothing was changed.',
    )
  const folder = join(dataDir, 'postgres')
  const setAside = (await dataMajor(folder)) === null ? null : await placeIfLeft(folder)
  if (setAside === null && existsSync(folder)) return { end: await startIn(folder), setAside }
  // It gets its mark under another name: without one, a server that starts meanwhile would begin anew on it.
  const fresh = `${folder}-arriving`
  const making = await startIn(fresh)
  try {
    await layTables(making.client)
    await writeMove(making.client, { move_id: randomUUID(), state: 'arriving', other: from.address })
  } finally {
    await making.close()
  }
  await rm(`${fresh}-programs`, { recursive: true, force: true })
  if (setAside !== null) await rename(folder, setAside)
  await rename(fresh, folder)
  return { end: await startIn(folder), setAside }
}

/** The place of an embedded database that the data left and to which they return newer. Null: it is not such a one. */
async function placeIfLeft(folder: string): Promise<string | null> {
  const end = await startIn(folder)
  try {
    const earlier = await readMove(end.client)
    if (earlier?.state !== 'left') return null
    return `${folder}-left-${dayOf(earlier)}-${earlier.move_id.slice(0, 8)}`
  } finally {
    await end.close()
  }
}

/** Whatever PostgreSQL or the network reports, the data are whole in one of the two databases. */
async function reported<T>(moving: Promise<T>): Promise<T> {
  return await moving.catch((error: unknown) => {
    const hasCode = typeof (error as NodeJS.ErrnoException).code === 'string'
    if (!hasCode && !isDatabaseUnavailable(error)) throw error
    throw new StartupError(
      `The move was interrupted: ${(error as Error).message}. Nothing is lost: run the command again, which begins anew or finishes the move.`,
    )
  })
}
