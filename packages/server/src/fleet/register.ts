/** Enters this server into the list of servers before it does anything, and gives it the projects that are its own. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Db, DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { deleteReplicasOn } from '../projects/replicas/store.ts'
import { countHomedAtPeers, projectsAt, takeProjects } from '../projects/home-store.ts'
import { storedProjects } from '../projects/mirrors/stored-repositories.ts'
import { staleSeconds } from '../db/live-instance.ts'
import { StartupError } from '../startup/startup-error.ts'
import { version } from '../version.ts'
import { sharedSettings } from './facts.ts'
import { addressOf } from './pass.ts'
import { joinsText, otherFolderText, ownPlace } from './recorded-servers.ts'
import { provesName } from './reachable.ts'
import { keepServerName, keptServerName, readServerName } from './server-name.ts'
import { isDiskFull } from '@svc/git'
import { beginMark, hasMark, isOlderFolder, keepMark, lacksRecordedAlone, olderDatabaseText } from './start-marks.ts'
import {
  databaseTime,
  endEarlier,
  endLonely,
  findServer,
  hasOtherServers,
  liveOthers,
  livesOnFolder,
  lockNames,
  recordedServers,
  type RecordedServer,
  recordServer,
  serversOfProjects,
} from './store.ts'

/** Its own heartbeat, which knows of outages, does not run yet. */
const deadAfterSeconds = staleSeconds

type RegisterDeps = Pick<Deps, 'log'> & { config: Config; db: Db }

export interface Registered {
  serverName: string
  /** The name by which jobs choose their projects. Null on a server that runs alone. */
  home: string | null
  /** Warns of a new folder, beside other servers or under the name of one, or of a database that is older than the folder. */
  joins: string | null
}

interface Process {
  instanceId: string
  folderId: string
}

/** Throws one line for the operator when the name, the folder and the other servers do not fit together. */
export async function registerServer(deps: RegisterDeps, own: Process): Promise<Registered> {
  await untilEarlierEnded(deps, own)
  // A server of this name that was killed, with another folder, counts as running for some seconds.
  for (let first: NameInUse | null = null; ; await delay(lookEveryMs))
    try {
      return await enterServer(deps, own)
    } catch (error) {
      if (!(error instanceof NameInUse) || (first !== null && first.heartbeatAt !== error.heartbeatAt)) throw error
      if (first === null)
        deps.log.info({ server_name: error.serverName }, `${waitingForEarlier}, which takes up to ${staleSeconds} s`)
      first ??= error
    }
}

async function enterServer({ config, db, log }: RegisterDeps, own: Process): Promise<Registered> {
  const stored = [
    ...(await storedProjects({ config }, 'repositories')),
    ...(await storedProjects({ config }, 'mirrors')),
  ]
  const registered = await db.transaction().execute(async (trx) => {
    await lockNames(trx)
    const others = await liveOthers(trx, { folderId: own.folderId, deadAfterSeconds })
    const { serverName, named } = await requireName({ config, db: trx }, { folderId: own.folderId, others })
    await refuseOlderFolder({ config, db: trx }, { folderId: own.folderId, serverName, stored })
    const markBefore = named?.settings?.[markName] ?? null
    const olderDatabase = olderDatabaseText(config, markBefore)
    if (olderDatabase !== null) log.warn({ server_name: serverName }, olderDatabase)
    const at = await databaseTime(trx)
    const mark = await beginMark(config, { mark: own.instanceId, at, before: markBefore }).then(
      () => own.instanceId,
      leftOnFullDisk(markBefore),
    )
    const otherFolder =
      named === null || named.data_folder === own.folderId
        ? null
        : otherFolderText(serverName, { ...config, before: named.settings })
    if (otherFolder !== null) log.warn({ server_name: serverName }, otherFolder)
    if (named?.taken_over_at != null)
      log.warn(
        { server_name: serverName, at: named.taken_over_at },
        'the projects of this server were taken over by others; it starts without them',
      )
    await recordServer(trx, {
      server_name: serverName,
      data_folder: own.folderId,
      instance_id: own.instanceId,
      peer_url: config.peerUrl,
      settings: {
        ...sharedSettings(config),
        ...ownPlace(config),
        svc_version: version,
        [provesName]: 'true',
        ...(mark === null ? {} : { [markName]: mark }),
        ...(recordsChanges(config) ? { [sinceName]: named?.settings?.[sinceName] ?? at } : {}),
      },
      keeps_replicas: config.roles.worker && config.peerUrl !== null && config.replica !== 'none',
    })
    if (named !== null && named.data_folder !== own.folderId) await deleteReplicasOn(trx, serverName)
    if (named?.instance_id != null) await endEarlier(trx, named.instance_id)
    if (config.peerUrl !== null) await endLonely(trx, { serverName, deadAfterSeconds })
    if (config.roles.worker) {
      const taken = await takeProjects(trx, {
        serverName,
        stored,
        isAlone: config.peerUrl === null && others.length === 0,
        isOnlyName: !(await hasOtherServers(trx, serverName)),
      })
      if (taken > 0) log.info({ projects: taken, server_name: serverName }, 'this server is the home of more projects')
    }
    const isNew = named === null && (await hasOtherServers(trx, serverName))
    const joins = isNew ? joinsText(serverName, { dataDir: config.dataDir, servers: await recordedServers(trx) }) : null
    if (joins !== null) log.warn({ server_name: serverName }, joins)
    return {
      serverName,
      home: config.peerUrl === null ? null : serverName,
      joins: olderDatabase ?? joins ?? otherFolder,
    }
  })
  // After the commit, since a folder without a name may take that of another one, and may have to try again.
  keepServerName(config, registered.serverName)
  await keepMark(config, own.instanceId).catch(leftOnFullDisk(null))
  return registered
}

/** A server on a full disk starts with the mark of before, because it still answers reads and merges. */
const leftOnFullDisk =
  <T>(before: T) =>
  (error: unknown): T => {
    if (!isDiskFull(error)) throw error
    return before
  }

/** In `servers.settings`, which a server of an earlier version replaces, so that the mark ends with a downgrade. */
const markName = 'start_mark'
/** Since when each start of the server has recorded changes of refs. */
const sinceName = 'records_since'

const recordsChanges = ({ peerUrl, replica }: Config) => peerUrl !== null && replica !== 'none'

/**
 * Without its mark, a server of an earlier version has run on the row last, and nothing tells. A folder without a name gets
 * one of the settings alone, which say so that it takes the place of another folder.
 */
async function refuseOlderFolder(
  { config, db }: NameDeps,
  { folderId, serverName, stored }: { folderId: string; serverName: string; stored: string[] },
): Promise<void> {
  const isNewest = (mark: string | null) => mark !== null && hasMark(config, mark)
  const named = (await recordedServers(db)).find(({ server_name }) => server_name === serverName)
  const isKnown = keptServerName(config.dataDir) !== null || named?.data_folder === folderId
  const isOlder = named != null && named.start_mark !== null && isKnown && !isNewest(named.start_mark)
  if (isOlder && !(await mayLack({ config, db }, named))) throw isOlderFolder(config, named)
  // Folders that link the same repositories have the same state. Among servers that reach each other, the home of a project answers, whatever is stored here.
  if (config.peerUrl !== null) return
  const others = await serversOfProjects(db, { except: serverName, projects: stored })
  const own = ownPlace(config)
  const isSame = ({ host, repositories }: RecordedServer) => host === own.host && repositories === own.repositories
  const newer = others.find((each) => !each.is_taken_over && !isSame(each) && !isNewest(each.start_mark))
  if (newer !== undefined) throw isOlderFolder(config, newer)
}

/** Among servers that reach each other, a home without projects has nothing to lose. */
async function mayLack({ config, db }: NameDeps, named: RecordedServer): Promise<boolean> {
  if (config.peerUrl === null) return false
  if ((await projectsAt(db, named.server_name)).length === 0) return true
  return recordsChanges(config) && (await lacksRecordedAlone(db, config, named))
}

type Others = Awaited<ReturnType<typeof liveOthers>>
type NameDeps = { config: Config; db: DbOrTransaction }

async function requireName(deps: NameDeps, { folderId, others }: { folderId: string; others: Others }) {
  const { config, db } = deps
  const owned = await findServer(db, { data_folder: folderId })
  const serverName = readServerName(
    { ...config, serverName: config.serverName ?? owned?.server_name ?? null },
    folderId,
  )
  if (owned !== null && owned.server_name !== serverName)
    throw new StartupError(
      `The data folder ${config.dataDir} is that of the server ${owned.server_name}, or a copy of it. Set SVC_SERVER_NAME=${owned.server_name}; in a copy, remove server.lock and server-name first.`,
    )
  const same = others.find((other) => other.server_name === serverName)
  if (same !== undefined) throw new NameInUse(serverName, same.heartbeat_at)
  if (!config.roles.worker) await refuseWithProjects(deps, serverName)
  if (config.peerUrl === null) await refuseAlone(deps, serverName)
  else {
    refuseUnreachable(others)
    refuseSameAddress(config.peerUrl, others)
  }
  return { serverName, named: await findServer(db, { server_name: serverName }) }
}

const lookEveryMs = 250
/** `svc self-host start` shows it. */
const waitingForEarlier = 'waiting until an earlier process of this server counts as ended'

/** It goes on when its heartbeat does. */
class NameInUse extends StartupError {
  readonly serverName: string
  readonly heartbeatAt: string

  constructor(serverName: string, heartbeatAt: string) {
    super(
      `Another server with the name ${serverName} is running on this database. Choose another SVC_SERVER_NAME. If that server has just ended, start again in ${staleSeconds} seconds.`,
    )
    this.serverName = serverName
    this.heartbeatAt = heartbeatAt
  }
}

/**
 * An earlier process of this folder that was killed has lost its lock, as a rule. After a failure of the database only
 * its heartbeat tells. One that goes on shows that the folder was copied.
 */
async function untilEarlierEnded({ config, db, log }: RegisterDeps, { folderId }: Process): Promise<void> {
  // The embedded database is part of the folder.
  if (config.databaseUrl === null) return
  const find = () => livesOnFolder(db, { folderId, deadAfterSeconds })
  const first = await find()
  if (first !== null) log.info({ server_name: first.server_name }, waitingForEarlier)
  for (let found = first; found !== null; found = await find()) {
    if (found.heartbeat_at !== first!.heartbeat_at)
      throw new StartupError(
        `The data folder ${config.dataDir} is a copy of that of the server ${found.server_name ?? 'without a name'}, which is running. Stop that server first; for a server of its own, use an empty SVC_DATA_DIR.`,
      )
    await delay(lookEveryMs)
  }
}

/** Others would find its projects nowhere, and no job would work on them. */
async function refuseWithProjects({ db, config }: NameDeps, serverName: string): Promise<void> {
  const { length } = config.peerUrl === null ? [] : await projectsAt(db, serverName)
  if (length === 0) return
  throw new StartupError(
    `${length === 1 ? '1 project has its' : `${length} projects have their`} home on this server, ${serverName}, and SVC_ROLES=api keeps none. Start it with the role worker, and move ${length === 1 ? 'it' : 'them'} away first: svc self-host drain ${serverName}`,
  )
}

async function refuseAlone({ db }: NameDeps, serverName: string): Promise<void> {
  const count = await countHomedAtPeers(db, serverName)
  if (count === 0) return
  throw new StartupError(
    `${count === 1 ? '1 project of this database has its' : `${count} projects of this database have their`} home on another server, which this one finds only with SVC_PEER_URL. Set it to the address at which the other servers reach this one.`,
  )
}

function refuseUnreachable(others: { server_name: string | null; peer_url: string | null }[]): void {
  const alone = others.find(({ peer_url }) => peer_url === null)
  if (alone === undefined) return
  throw new StartupError(
    `The server ${alone.server_name ?? 'of an earlier version'} runs on this database without SVC_PEER_URL, so it works on every project. Restart it with SVC_PEER_URL first.`,
  )
}

/** Requests for one of the two would reach the other. */
function refuseSameAddress(peerUrl: string, others: { server_name: string | null; peer_url: string | null }[]): void {
  const own = addressOf(peerUrl)
  const same = others.find(({ peer_url }) => peer_url !== null && isSameAddress(addressOf(peer_url), own))
  if (same === undefined) return
  throw new StartupError(
    `The server ${same.server_name} has this SVC_PEER_URL already (${same.peer_url}). Set it to the address at which the other servers reach this one.`,
  )
}

type Address = ReturnType<typeof addressOf>

/** The other addresses that `localhost` can mean. */
const local = ['127.0.0.1', '::1']

function isSameAddress(a: Address, b: Address): boolean {
  const isLocal = (one: Address, other: Address) => one.host === 'localhost' && local.includes(other.host)
  return a.port === b.port && (a.host === b.host || isLocal(a, b) || isLocal(b, a))
}
