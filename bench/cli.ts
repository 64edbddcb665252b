/**
 * Start time of the client as whole processes of the built program, each beside `git --version`: a small native program on the
 * same machine in the same minute.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git, program, run, Server } from '../test/e2e/harness.ts'
import { interleaved, median, printFigures, rounds as roundsOf } from './report/figures.ts'

const rounds = roundsOf(40)
/** How much longer than its floor the client may take, in ms on an idle machine; a busy machine slows both. */
const promised = { version: 20, list: 60 }

const dir = await mkdtemp(join(tmpdir(), 'svc-bench-'))
const server = await Server.start()
try {
  const project = await projectWithChangeRequests(20)
  const env = { PATH: process.env.PATH ?? '', HOME: server.dir, SVC_CONFIG_FILE: server.env.SVC_CONFIG_FILE! }
  const inProject = { ...env, SVC_PROJECT_ID: project }
  const list = `/v1/projects/${project}/change-requests?status=open&limit=100`
  const times = await interleaved(rounds, {
    git: () => run(['git', '--version'], { env }),
    version: () => run([program, '--version'], { env }),
    help: () => run([program, 'cr', 'merge', '--help'], { env }),
    ls: () => run([program, 'cr', 'ls'], { env: inProject }),
    json: () => run([program, 'cr', 'ls', '--json'], { env: inProject }),
    complete: () => run([program, '__complete', '--', 'cr', 'show', ''], { env: inProject }),
    request: async () => void (await (await server.api(list)).text()),
  })
  const floor = median(times.git)
  const network = median(times.request)
  const start = { floor: 'git --version', floorMs: floor }
  const asked = { floor: 'git --version + the request', floorMs: floor + network }
  printFigures('The client, as whole processes', [
    { what: 'svc --version', ms: median(times.version), ...start },
    { what: 'svc cr merge --help', ms: median(times.help), ...start },
    { what: 'svc cr ls, 20 open', ms: median(times.ls), ...asked },
    { what: 'svc cr ls --json', ms: median(times.json), ...asked },
    { what: 'Tab after svc cr show', ms: median(times.complete), ...asked },
  ])
  const over = (ms: number, promise: number) => `${ms.toFixed(1)} ms of ${promise} ms`
  console.log(`\nsvc --version: ${over(median(times.version), promised.version)}`)
  console.log(`svc cr ls over the network: ${over(median(times.ls) - network, promised.list)}`)
} finally {
  await server.end()
  await rm(dir, { recursive: true, force: true })
}

async function projectWithChangeRequests(count: number): Promise<string> {
  const { project_id: id } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'bench'])
  const seed = join(dir, 'seed')
  await git(dir, 'init', '--quiet', '--initial-branch=main', seed)
  await Bun.write(join(seed, 'a.txt'), 'a\n')
  await git(seed, 'add', '.')
  await git(seed, 'commit', '--quiet', '-m', 'First')
  const heads = Array.from({ length: count }, (_, n) => `work-${n}`)
  for (const head of heads) await git(seed, 'branch', head)
  await git(seed, 'push', '--quiet', join(server.env.SVC_DATA_DIR!, 'repositories', `${id}.git`), 'main', ...heads)
  for (const head of heads) await server.json(['cr', 'open', '--title', head, '--head', head, '--project', id])
  return id
}
