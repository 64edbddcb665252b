/** The doctor's findings about several servers on one database. */
import { aheadText } from '@svc/contract/clocks'
import { count } from '@svc/contract/count'
import { type Finding, good, missing, weak } from '@svc/sandbox'
import type { Config } from '../config.ts'
import type { Db, DbOrTransaction } from '../db/schema.ts'
import { differenceText, isDraining, ownAddressProblem, unlikeServers } from '../fleet/facts.ts'
import { PeerTls } from '../fleet/peer-tls.ts'
import type { AskingDeps } from '../fleet/reachable.ts'
import { keptServerName, readServerName } from '../fleet/server-name.ts'
import { hasOtherServers, type ServerWithProjects, serversWithProjects } from '../fleet/store.ts'
import { makeKeyring } from '../keyring/keyring.ts'
import { openRootKey } from '../keyring/open-keyring.ts'
import { uncopiedProjects } from '../projects/replicas/store.ts'
import { staleSeconds } from '../db/live-instance.ts'
import { findLostRepositories, listOf } from './lost-repositories.ts'

/** Null where servers keep no copies. */
export async function examineCopies(config: Config, db: DbOrTransaction): Promise<Finding | null> {
  if (config.replica === 'none') return null
  const { projects } = await uncopiedProjects(db, { deadAfterSeconds: staleSeconds })
  const lacking = projects.filter((each) => !each.being_made)
  const lackingCount = lacking.length
  if (projects.length === 0) return good('copies', 'every project has a current copy on another server')
  if (lackingCount === 0)
    return good('copies', 'every project has a current copy on another server, or gets its first one at this moment')
  const stopped = (await serversWithProjects(db, staleSeconds)).filter((each) => !each.running)
  const gone = stopped.map((each) => each.server_name).filter((name) => lacking.some(({ home }) => home === name))
  const others = lacking.filter(({ home }) => home === null || !gone.includes(home))
  const areRefused = lacking.every((each) => each.changes_refused)
  const isAnyRefused = lacking.some((each) => each.changes_refused)
  const mends = gone.map(startOrTakeOver)
  if (others.length > 0) {
    const hasFailed = others.some(({ error }) => error !== null)
    mends.push(hasFailed ? 'Mend the reason on the server that it names.' : 'Start another server of this database.')
    if (!areRefused) mends.push('Meanwhile their changes may be refused, unless SVC_REPLICA is async.')
  }
  mends.push('`svc self-host copies` lists them all.')
  const listed = listOf(
    lacking.map(({ slug, home, error }) => `${slug} (at ${home}${error === null ? '' : `: ${error}`})`),
  )
  return weak(
    'copies',
    areRefused
      ? `changes of ${count(lackingCount, 'project')} are refused, because the copy cannot be written: ${listed}`
      : `${count(lackingCount, 'project')} ${lackingCount === 1 ? 'has' : 'have'} no current copy${isAnyRefused ? ', or one that cannot be written' : ''}: ${listed}`,
    mends.join(' '),
  )
}

/** As the client says it in `svc self-host servers`. */
function startOrTakeOver(name: string): string {
  return `${name} does not run. Start it again, or if it is gone for good: \`svc self-host take-over ${name}\`.`
}

function examineGone(servers: ServerWithProjects[], serverName: string): Finding[] {
  return servers
    .filter((each) => !each.running && each.projects > 0 && each.server_name !== serverName)
    .map(({ server_name: name, projects }) =>
      weak('home', `${name} is the home of ${count(projects, 'project')}, and does not run`, startOrTakeOver(name)),
    )
}

/** The servers record their settings and their sandboxes. Empty on a server that runs alone. */
export async function examineFleet(config: Config, db: Db): Promise<Finding[]> {
  if (config.peerUrl === null) return []
  const serverName = readServerName(config, '')
  const servers = await serversWithProjects(db, staleSeconds)
  const unlike = unlikeServers(servers, { config, serverName })
  const lacking = servers.filter((each) => each.running && each.sandboxes_ready === false)
  const full = servers.filter((each) => each.disk_low)
  const apart = servers.flatMap(({ server_name: name, clock_ahead_seconds: seconds }) =>
    name === serverName || seconds === null ? [] : [{ name, seconds }],
  )
  const runs = servers.some((each) => each.server_name === serverName && each.running)
  return [
    ...(runs ? [await examineOwnAddress(config.peerUrl, { config, db, serverName })] : []),
    ...(unlike.length === 0
      ? [good('settings', 'the servers agree on SVC_PUBLIC_URL, SVC_PREVIEW_DOMAIN, SVC_REPLICA and SVC_KEEP_…')]
      : unlike.flatMap(({ name, different }) =>
          different.map((each) =>
            weak(
              'settings',
              differenceText(name, each),
              'Set the same on every server, and restart those that differ.',
            ),
          ),
        )),
    ...examineGone(servers, serverName),
    ...lacking.map(({ server_name: name, sandbox_problem }) =>
      weak(
        'sandboxes',
        `${name} cannot start sandboxes, so it gets no projects while another server can: ${sandbox_problem}`,
        `Run \`svc self-host doctor\` on the machine of ${name}.`,
      ),
    ),
    ...full.map(({ server_name: name }) =>
      weak(
        'full disk',
        `the disk of ${name} is almost full, so it gets no projects while another server can take them`,
        `Free space in the data folder of ${name}.`,
      ),
    ),
    ...apart.map(({ name, seconds }) =>
      weak(
        'clock',
        `that of ${name} is ${aheadText(seconds)} the database's, so the other servers refuse its requests, and it gets no projects while another server can`,
        `Synchronize the clock on the machine of ${name}: timedatectl set-ntp true`,
      ),
    ),
    ...((await isDraining(db, serverName))
      ? [
          weak(
            'drain',
            `${serverName} is being drained: it takes no projects, and those it has move away`,
            `To end that: \`svc self-host drain ${serverName} --off\``,
          ),
        ]
      : []),
  ]
}

type Asking = Pick<AskingDeps, 'config' | 'db' | 'serverName'>

async function examineOwnAddress(peerUrl: string, of: Asking): Promise<Finding> {
  const keyring = await openRootKey(of).then(({ rootKey }) => makeKeyring(rootKey), namedElsewhere)
  const asking = keyring && { ...of, keyring, now: () => new Date(), peerTls: await PeerTls.make(keyring) }
  const problem = await ownAddressProblem(asking, peerUrl)
  if (problem !== null) return weak('address', `from this machine, ${problem.says}`, problem.mend)
  if (asking === null) return good('address', `${peerUrl} accepts connections from this machine`)
  return good('address', `${peerUrl} leads to this server from this machine`)
}

/** The finding about the master key says why it cannot be opened. */
function namedElsewhere(): null {
  return null
}

/**
 * Whether this disk has the repositories of its projects: one that was replaced has none, and every request fails. Null
 * on a server that runs alone and has all.
 */
export async function examineRepositories(config: Config, db: DbOrTransaction): Promise<Finding | null> {
  const serverName = await nameAmongOthers(config, db)
  const found = await findLostRepositories(db, { config, serverName, now: new Date() })
  if (found !== null) return missing('repositories', found.says, found.mend)
  return serverName === null ? null : good('repositories', 'this disk has the repository of every project at home here')
}

/** The folder has the name since the first start. A command that was given the database alone knows of the others by it. */
async function nameAmongOthers(config: Config, db: DbOrTransaction): Promise<string | null> {
  if (config.peerUrl !== null) return readServerName(config, '')
  const kept = keptServerName(config.dataDir)
  return kept !== null && (await hasOtherServers(db, kept)) ? kept : null
}
