/**
 * The main path through the built program: create a session until it runs; read, preview and merge a change request; start the
 * client.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readTips, type Sha } from '@svc/git'
import { git, program, run, Server, until } from '../test/e2e/harness.ts'
import { Client } from './git/http.ts'
import { rawMerge, rawPreview } from './git/repositories.ts'
import { type Figure, interleaved, median, printFigures, timed, rounds as roundsOf } from './report/figures.ts'
import { runtimeBoot } from './report/runtime-boot.ts'

const starts = Number(process.env.BENCH_STARTS ?? 5)
const rounds = roundsOf(100)

interface Session {
  session_id: string
  status: string
  error: string | null
}

const dir = await mkdtemp(join(tmpdir(), 'svc-bench-'))
const server = await Server.start()
try {
  const seed = join(dir, 'seed')
  const project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'bench'])).project_id
  const bare = join(server.env.SVC_DATA_DIR!, 'repositories', `${project}.git`)
  await makeRepository(seed, bare)
  printFigures('Change requests', await changeRequests(project, seed, bare))
  printFigures('The client, as whole processes', await client(project))
  await sessions(project)
} finally {
  await server.end()
  await rm(dir, { recursive: true, force: true })
}

/** 200 files, 300 commits: small enough to make here, large enough for meaningful figures. */
async function makeRepository(seed: string, bare: string): Promise<void> {
  await git(dir, 'init', '--quiet', '--initial-branch=main', seed)
  for (let file = 0; file < 200; file++)
    await Bun.write(join(seed, `src/${file % 20}/file-${file}.txt`), `line\n`.repeat(50))
  await git(seed, 'add', '.')
  await git(seed, 'commit', '--quiet', '-m', 'start')
  const commit = 'commit refs/heads/main\ncommitter A <a@example.test> 1700000000 +0000\ndata 1\nx\n'
  await run(['git', 'fast-import', '--quiet'], {
    cwd: seed,
    input: `${commit}from refs/heads/main^0\n\n${`${commit}\n`.repeat(299)}`,
  })
  await git(seed, 'push', '--quiet', bare, 'main')
}

async function makeBranch(seed: string, bare: string, name: string, file: string): Promise<void> {
  await git(seed, 'checkout', '--quiet', '--force', '-B', name, 'main')
  await Bun.write(join(seed, file), `${name}\n`)
  await git(seed, 'add', '.')
  await git(seed, 'commit', '--quiet', '-m', name)
  await git(seed, 'push', '--quiet', bare, name)
}

async function changeRequests(project: string, seed: string, bare: string): Promise<Figure[]> {
  await makeBranch(seed, bare, 'read', 'new-read.txt')
  const api = new Client(server, { project_id: project })
  const cr = await api.open({ base: 'main', head: 'read' })
  const read = await interleaved(rounds, {
    read: () => api.get(cr),
    trivial: () => api.get('/v1/token'),
    tips: () => readTips({ dir: bare, remote: null }, ['main', 'read']),
    preview: () => api.get(`${cr}/merge-preview`),
    diff: () => api.get(`${cr}/diff`),
  })
  const route = { floor: 'trivial authenticated route + tips', floorMs: median(read.trivial) + median(read.tips) }
  const merges = 15
  const merge = { cold: [] as number[], raw: [] as number[], rawPreview: [] as number[], preview: [] as number[] }
  for (let n = 0; n < merges; n++) {
    const head = `merge-${n}`
    await makeBranch(seed, bare, head, `new-${n}.txt`)
    const one = await api.open({ base: 'main', head })
    // git takes the names of branches, too; the floor's merge goes to a ref of its own, so that ours finds the base unchanged.
    const pair = { base: head, head, baseSha: 'main' as Sha, headSha: head as Sha }
    await api.get(one)
    merge.preview.push(await timed(() => api.get(`${one}/merge-preview`)))
    merge.rawPreview.push(await timed(() => rawPreview(bare, pair)))
    merge.raw.push(await timed(() => rawMerge(bare, pair)))
    merge.cold.push(await timed(() => api.post(`${one}/merge`)))
  }
  return [
    { what: 'read of an open change request', ms: median(read.read), ...route },
    { what: 'preview, warm', ms: median(read.preview), ...route },
    { what: 'diff, warm', ms: median(read.diff), ...route },
    { what: 'preview, cold', ms: median(merge.preview), floor: 'git merge-tree', floorMs: median(merge.rawPreview) },
    {
      what: 'three-way merge, managed repository',
      ms: median(merge.cold),
      floor: 'merge-tree + commit-tree + update-ref',
      floorMs: median(merge.raw),
    },
  ]
}

async function client(project: string): Promise<Figure[]> {
  const env = { PATH: process.env.PATH ?? '', HOME: server.dir, SVC_CONFIG_FILE: server.env.SVC_CONFIG_FILE! }
  const times = await interleaved(20, {
    version: () => run([program, '--version'], { env }),
    ls: () => run([program, 'cr', 'ls', '--project', project], { env }),
    git: () => run(['git', '--version'], { env }),
    list: () => server.send('GET', `/v1/projects/${project}/change-requests?status=open`),
  })
  const floor = median(times.git)
  return [
    { what: 'svc --version', ms: median(times.version), floor: 'git --version', floorMs: floor },
    {
      what: 'svc cr ls',
      ms: median(times.ls),
      floor: 'git --version + the request itself',
      floorMs: floor + median(times.list),
    },
  ]
}

async function sessions(project: string): Promise<void> {
  const running: number[] = []
  const boots: number[] = []
  const phases = new Map<string, number[]>()
  for (let n = 0; n < starts; n++) {
    boots.push(await runtimeBoot(join(dir, `runtime-${n}`)))
    const started = performance.now()
    const { session_id } = await server.json<Session>([
      ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--project', project],
    ])
    const path = `/v1/projects/${project}/sessions/${session_id}`
    await until('the session to run', async () => {
      const session = await server.send<Session>('GET', path)
      if (session.status === 'failed') throw new Error(session.error ?? 'failed')
      return session.status === 'running'
    })
    running.push(performance.now() - started)
    const timeline = await server.send<{ phases: { name: string; ms: number | null }[] }>('GET', `${path}/timeline`)
    for (const phase of timeline.phases) phases.set(phase.name, [...(phases.get(phase.name) ?? []), phase.ms ?? 0])
    await server.json(['sessions', 'rm', session_id, '--yes', '--project', project])
  }
  printFigures('A session, cold', [
    {
      what: 'create to running',
      ms: median(running),
      floor: "the runtime's own boot, outside a sandbox",
      floorMs: median(boots),
    },
    ...[...phases].map(([name, ms]) => ({ what: `  ${name}`, ms: median(ms), floor: '', floorMs: null })),
  ])
}
