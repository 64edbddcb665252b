/** Tells an operator which servers the database knows, where the settings may name the wrong data folder. */
import { existsSync, realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { count } from '@svc/contract/count'
import type { Config } from '../config.ts'
import type { RecordedServer } from './store.ts'

/** Recorded with the settings of a server. */
export function ownPlace({ dataDir }: Pick<Config, 'dataDir'>) {
  const path = join(dataDir, 'repositories')
  return { host: hostname(), data_dir: dataDir, repositories: existsSync(path) ? realpathSync(path) : path }
}

const shownMax = 10

/** "alice (/srv/svc on host-1), bob". */
export function listServers(servers: RecordedServer[]): string {
  const shown = servers
    .slice(0, shownMax)
    .map(({ server_name, host, data_dir }) =>
      host === null || data_dir === null ? server_name : `${server_name} (${data_dir} on ${host})`,
    )
  const more = servers.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

/** Null: the others were taken over, so that a server in the place of one is no surprise. */
export function joinsText(
  serverName: string,
  { dataDir, servers }: { dataDir: string; servers: RecordedServer[] },
): string | null {
  const others = servers.filter(({ server_name, is_taken_over }) => server_name !== serverName && !is_taken_over)
  if (others.length === 0) return null
  const projects = others.reduce((sum, each) => sum + each.projects, 0)
  const stay = projects === 0 ? '' : ` ${count(projects, 'project')} ${projects === 1 ? 'stays' : 'stay'} there.`
  return `The data folder ${dataDir} is new to the database, so this server (${serverName}) joins ${count(others.length, 'other server')}: ${listServers(others)}.${stay} If it is meant to be one of them, stop it and set SVC_DATA_DIR to the data folder of that one.`
}

/** For a server whose name is that of one with another data folder. `before`: what that one recorded of itself. */
export function otherFolderText(
  serverName: string,
  { dataDir, peerUrl, before }: Pick<Config, 'dataDir' | 'peerUrl'> & { before: Record<string, string> | null },
): string {
  const { data_dir = null, host = null } = before ?? {}
  const where = data_dir === null || host === null ? 'another data folder' : `${data_dir} on ${host}`
  const lost =
    peerUrl === null
      ? 'restore a backup'
      : `stop it and take its projects over on another server, which has their copies: svc self-host take-over ${serverName}`
  return `This server has the name ${serverName}, which ran in ${where} before, and starts with the data folder ${dataDir}. If that is a mistake, stop it and set SVC_DATA_DIR to the folder of before. If that folder is lost, ${lost}`
}
