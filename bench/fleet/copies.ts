/** Merges on two pairs of servers side by side: one keeps a copy on the other server, the other pair has none. */
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { migrate } from '../../packages/server/src/db/migrate.ts'
import { createTestDatabase, withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { gatewayOf, git } from '../../test/e2e/harness.ts'
import { OneOfSeveral, sharedSettings } from '../../test/e2e/one-of-several.ts'
import { type Figure, median, timed } from '../report/figures.ts'

type Mode = 'sync' | 'async' | 'none'

interface Pair {
  home: OneOfSeveral
  project: string
  merge(branch: string): Promise<number>
  push(branch: string): Promise<number>
  end(): Promise<void>
}

async function startPair(dir: string, mode: Mode): Promise<Pair> {
  const database = await createTestDatabase({ name: 'replica', prepare: migrate })
  const own = join(dir, mode)
  await mkdir(own)
  const env = {
    ...sharedSettings(own, database.url),
    SVC_PUBLIC_URL: 'http://127.0.0.1:8420',
    SVC_BOOTSTRAP_TOKEN: makeToken((count) => randomBytes(count)),
    SVC_SANDBOX_DRIVER: 'none',
    SVC_REPLICA: mode,
  }
  const servers = ['ada', 'bob'].map((name) => new OneOfSeveral(own, name, env))
  for (const server of servers) await server.boot()
  const home = servers[0]!
  const { project_id: project } = await home.send<{ project_id: string }>('POST', '/v1/projects', { name: 'bench' })
  const base = `/v1/projects/${project}/change-requests`
  return {
    home,
    project,
    async merge(branch) {
      const { cr_id } = await home.send<{ cr_id: string }>('POST', base, { title: branch, head_ref: branch })
      await home.send('GET', `${base}/${cr_id}`)
      return timed(() => home.send('POST', `${base}/${cr_id}/merge`))
    },
    push: (branch) =>
      timed(() => git(join(dir, 'seed'), 'push', '--quiet', gatewayOf(home, { project_id: project }), branch)),
    async end() {
      const taken = mode === 'none' ? 0 : 1
      await withClient(database.url, async (client) => {
        const { rows } = await client.query('select 1 from project_replicas where project_id = $1', [project])
        if (rows.length !== taken) throw new Error(`With SVC_REPLICA=${mode} there are ${rows.length} copies.`)
      })
      for (const server of servers) await server.kill('SIGTERM')
      await database.drop()
    },
  }
}

async function makeSeed(dir: string, branches: string[]): Promise<string> {
  const seed = join(dir, 'seed')
  await git(dir, 'init', '--quiet', '--initial-branch=main', seed)
  for (let file = 0; file < 200; file++)
    await Bun.write(join(seed, `src/${file % 20}/file-${file}.txt`), `line\n`.repeat(50))
  await git(seed, 'add', '.')
  await git(seed, 'commit', '--quiet', '-m', 'start')
  for (const branch of branches) {
    await git(seed, 'checkout', '--quiet', '-b', branch, 'main')
    await Bun.write(join(seed, `src/1/${branch}.txt`), `${branch}\n`)
    await git(seed, 'add', '.')
    await git(seed, 'commit', '--quiet', '-m', branch)
  }
  return seed
}

/** A merge and a push that wait for the copy, beside those of servers without one, in turn. */
export async function replicaFigures(rounds: number): Promise<Figure[]> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-bench-replica-'))
  const modes: Mode[] = ['none', 'sync', 'async']
  const pairs = new Map<Mode, Pair>()
  try {
    // The first ones compile the code of the servers.
    const warm = 5
    const branches = Array.from({ length: rounds + warm }, (_, at) => `topic-${at}`)
    await makeSeed(dir, branches)
    for (const mode of modes) pairs.set(mode, await startPair(dir, mode))
    const times = { merge: new Map<Mode, number[]>(), push: new Map<Mode, number[]>() }
    for (const pair of pairs.values()) await pair.push('main')
    for (const [at, branch] of branches.entries())
      // Which one comes first changes, so that none has the warmer machine.
      for (const mode of at % 2 === 0 ? modes : modes.toReversed()) {
        const pair = pairs.get(mode)!
        const push = await pair.push(branch)
        const merge = await pair.merge(branch)
        if (at < warm) continue
        times.push.set(mode, [...(times.push.get(mode) ?? []), push])
        times.merge.set(mode, [...(times.merge.get(mode) ?? []), merge])
      }
    const of = (what: 'merge' | 'push', mode: Mode): Figure => ({
      what: `${what}, SVC_REPLICA=${mode}`,
      ms: median(times[what].get(mode)!),
      floor: `${what}, SVC_REPLICA=none`,
      floorMs: median(times[what].get('none')!),
    })
    return [of('merge', 'sync'), of('merge', 'async'), of('push', 'sync'), of('push', 'async')]
  } finally {
    for (const pair of pairs.values()) await pair.end()
    await rm(dir, { recursive: true, force: true })
  }
}
