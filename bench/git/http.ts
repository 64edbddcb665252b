/** Measures the routes of the built program as a client does. */
import { join } from 'node:path'
import { readTips, type Repository } from '../../packages/git/src/index.ts'
import { lsRefsHttp } from '../../packages/git/src/refs/ls-refs.ts'
import { commit, makeRepo } from '../../packages/git/src/testing.ts'
import type { Server } from '../../test/e2e/harness.ts'
import { type Figure, interleaved, median, timed } from '../report/figures.ts'
import { checkAlone, mergeRows } from './engine.ts'
import { startSeparateHost } from './separate-host.ts'
import { readerFigures } from './readers.ts'
import { fill, type Pair, raw, rawMerge, rawPreview } from './repositories.ts'

interface Project {
  project_id: string
}

export class Client {
  readonly #server: Server
  readonly base: string
  constructor(server: Server, project: Project) {
    this.#server = server
    this.base = `/v1/projects/${project.project_id}/change-requests`
  }

  static project(server: Server, body: object): Promise<Project> {
    return server.send('POST', '/v1/projects', body)
  }

  get = <T>(path: string) => this.#server.send<T>('GET', path)
  post = <T>(path: string, body?: object) => this.#server.send<T>('POST', path, body)

  async open({ base, head }: Pick<Pair, 'base' | 'head'>): Promise<string> {
    const body = { title: head, head_ref: head, base_ref: base }
    return `${this.base}/${(await this.post<{ cr_id: string }>(this.base, body)).cr_id}`
  }
}

/** A new server still interprets code that it compiles later, so its first merges are reported separately. */
const firstMerges = 10
const mergesBefore = 200

/** Change requests one after another on a managed repository. */
export async function managedFigures(
  server: Server,
  input: { commits: number; rounds: number; isFresh: boolean },
): Promise<Figure[]> {
  const { rounds } = input
  const project = await Client.project(server, { name: `managed-${input.commits}` })
  const repo: Repository = {
    dir: join(server.env.SVC_DATA_DIR!, 'repositories', `${project.project_id}.git`),
    remote: null,
  }
  const { pairs } = await fill(repo, { commits: input.commits, pairs: (mergesBefore + rounds) * 2 + 1 })
  const client = new Client(server, project)
  const first = await mergeTimes(client, repo, take(pairs, firstMerges * 2))
  await mergeTimes(client, repo, take(pairs, (mergesBefore - firstMerges) * 2))
  const times = await mergeTimes(client, repo, take(pairs, rounds * 2))
  const [pair] = take(pairs, 1) as [Pair]
  const read = await client.open(pair)
  const branches = [pair.base, pair.head]
  const warm = await interleaved(rounds * 3, {
    read: () => client.get(read),
    trivial: () => client.get('/v1/token'),
    tips: () => readTips(repo, branches),
    preview: () => client.get(`${read}/merge-preview`),
    diff: () => client.get(`${read}/diff`),
  })
  const route = { floor: 'trivial authenticated route + tips', floorMs: median(warm.trivial) + median(warm.tips) }
  const commands = 'merge-tree + commit-tree + update-ref'
  const merge = {
    what: 'three-way merge',
    ms: median(times.merge),
    floor: commands,
    floorMs: median(times.rawMerge),
  }
  const what = `  of a server that just started, the first ${firstMerges}`
  return [
    { what: 'read of an open change request', ms: median(warm.read), ...route },
    { what: 'preview, warm', ms: median(warm.preview), ...route },
    { what: 'diff, warm', ms: median(warm.diff), ...route },
    { what: 'preview, cold', ms: median(times.preview), floor: 'git merge-tree', floorMs: median(times.rawPreview) },
    ...mergeRows(merge, times.check),
    ...(input.isFresh ? [{ what, ms: median(first.merge), floor: commands, floorMs: median(first.rawMerge) }] : []),
    ...(await readerFigures({
      read: () => client.get(read),
      floor: 'git for-each-ref each, 50 at once',
      process: () => raw(repo.dir, ['for-each-ref', ...branches.map((name) => `refs/heads/${name}`)]),
    })),
  ]
}

const take = <T>(from: T[], count: number): T[] => from.splice(0, count)

/**
 * Cold previews and merges of every other pair. The floor uses the pairs in between, since the service would find the objects
 * it writes.
 */
async function mergeTimes(client: Client, repo: Repository, pairs: Pair[]) {
  const times = { preview: [] as number[], rawPreview: [] as number[], merge: [] as number[], rawMerge: [] as number[] }
  const check: number[] = []
  while (pairs.length > 0) {
    const [pair, other] = take(pairs, 2) as [Pair, Pair]
    const one = await client.open(pair)
    times.rawPreview.push(await timed(() => rawPreview(repo.dir, other)))
    times.preview.push(await timed(() => client.get(`${one}/merge-preview`)))
    times.rawMerge.push(await timed(() => rawMerge(repo.dir, other)))
    let merged = ''
    times.merge.push(
      await timed(async () => {
        merged = (await client.post<{ merge: { merge_commit_sha: string } }>(`${one}/merge`)).merge.merge_commit_sha
      }),
    )
    check.push(await checkAlone(repo, pair, merged))
  }
  return { ...times, check }
}

/** Many change requests on an external repository. */
export async function externalFigures(server: Server, input: { commits: number; rounds: number }): Promise<Figure[]> {
  const origin = await makeRepo({ main: {} })
  const { pairs } = await fill(origin, { commits: input.commits, pairs: 1000 })
  const host = await startSeparateHost(origin.dir)
  try {
    const project = await Client.project(server, { repo_url: host.url, name: `external-${input.commits}` })
    const client = new Client(server, project)
    const opened: string[] = []
    for (let at = 0; at < pairs.length; at += 8)
      opened.push(
        ...(await Promise.all(pairs.slice(at, at + 8).map(({ head }) => client.open({ base: 'main', head })))),
      )
    const remote = { url: host.url, credential: null, allowProtocols: ['http'] }
    const names = ['main', ...pairs.map(({ head }) => head)]
    const lists = await interleaved(input.rounds, {
      list: () => client.get(`${client.base}?status=open&limit=1000`),
      refs: () => lsRefsHttp(remote, names.slice(0, 1000), 10_000),
    })
    const branch = [`refs/heads/${pairs[0]!.head}`, 'refs/heads/main']
    return [
      {
        what: 'list of 1,000 open change requests',
        ms: median(lists.list),
        floor: 'one ls-refs of 1,000 names',
        floorMs: median(lists.refs),
      },
      ...(await readerFigures({
        read: () => client.get(opened[0]!),
        floor: 'git ls-remote each, 50 at once',
        process: () => raw(origin.dir, ['ls-remote', host.url, ...branch]),
        host: {
          ask: () => lsRefsHttp(remote, ['main', pairs[0]!.head], 10_000),
          questions: host.questions,
          managed: await othersRead(server),
        },
      })),
    ]
  } finally {
    await host.close()
    await origin.remove()
  }
}

/** Reading a small managed project. */
export async function othersRead(server: Server): Promise<() => Promise<unknown>> {
  const project = await Client.project(server, { name: 'beside' })
  const dir = join(server.env.SVC_DATA_DIR!, 'repositories', `${project.project_id}.git`)
  const repo: Repository = { dir, remote: null }
  await commit(repo, 'main', { 'README.md': 'hello\n' }, { orphan: true })
  await commit(repo, 'work', { 'work.txt': 'work\n' })
  const client = new Client(server, project)
  const path = await client.open({ base: 'main', head: 'work' })
  return () => client.get(path)
}
