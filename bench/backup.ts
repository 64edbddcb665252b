/**
 * A backup of many gigabytes of repositories beside `tar` of the same files, the next one beside what changed, and what
 * others' requests take in the meantime.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gatewayOf, git, gitEnvironment, makeFirstCommit, program, run, Server } from '../test/e2e/harness.ts'
import { type Figure, median, percentile, printFigures, rounds, timed } from './report/figures.ts'

const gigabytes = Number(process.env.BENCH_GB ?? 2)
const projectsCount = Number(process.env.BENCH_PROJECTS ?? 20)
const readsPerSecond = 20
const quietSeconds = Number(process.env.BENCH_SECONDS ?? 30)
const changedPart = 0.01
const bytesEach = (gigabytes * 1024 ** 3) / projectsCount

const dir = await mkdtemp(join(tmpdir(), 'svc-bench-backup-'))
const server = await Server.start()
try {
  const { reader, projects, work } = await makeWorld()
  const repositories = join(server.env.SVC_DATA_DIR!, 'repositories')
  const bytes = await bytesIn(repositories)
  console.log(`${projects.length} repositories of ${(bytes / 1024 ** 3).toFixed(1)} GiB in all`)

  const quiet = await latencies(reader, Bun.sleep(quietSeconds * 1000))
  const times = { tar: [] as number[], backup: [] as number[] }
  const beside = { tar: [] as number[], backup: [] as number[] }
  for (let round = 0; round < rounds(3); round++) {
    await withFolder(async (folder) => {
      const ran = timed(() => backUp(folder))
      // Before anything is removed: a file system that frees gigabytes makes everyone wait, also some seconds later.
      if (round === 0) beside.backup.push(...(await latencies(reader, ran)))
      times.backup.push(await ran)
    })
    await withFolder(async (folder) => {
      const ran = timed(() => tar(repositories, folder))
      if (round === 0) beside.tar.push(...(await latencies(reader, ran)))
      times.tar.push(await ran)
    })
  }
  const next = await changesAfterABackup(projects, work, repositories)
  report(times, next, quiet, beside)
} finally {
  await server.end()
  await rm(dir, { recursive: true, force: true })
}

interface Project {
  project_id: string
}

/** Repositories of one history each, and in one more project an open change request to read. */
async function makeWorld() {
  const work = join(dir, 'work')
  await git(dir, 'init', '--quiet', '--initial-branch=main', work)
  await addHistory(work, bytesEach)
  const projects: Project[] = []
  for (let n = 0; n < projectsCount; n++) {
    const project = await server.json<Project>(['projects', 'create', '--name', `bench-${n}`])
    await git(work, 'push', '--quiet', gatewayOf(server, project), 'main')
    projects.push(project)
    process.stderr.write(`\r${n + 1} of ${projectsCount} repositories pushed `)
  }
  process.stderr.write('\n')
  return { work, projects, reader: await changeRequestToRead() }
}

async function changeRequestToRead(): Promise<string> {
  const { project_id } = await server.json<Project>(['projects', 'create', '--name', 'read'])
  await makeFirstCommit(server, project_id)
  const clone = join(dir, 'read')
  const url = gatewayOf(server, { project_id })
  await git(dir, 'clone', '--quiet', url, clone)
  await Bun.write(join(clone, 'a.txt'), 'b\n')
  await git(clone, 'commit', '--quiet', '--all', '-m', 'Change a line')
  await git(clone, 'push', '--quiet', url, 'main:change')
  const path = `/v1/projects/${project_id}/change-requests`
  const body = { title: 'Change a line', head_ref: 'change', base_ref: 'main' }
  const { cr_id } = await server.send<{ cr_id: string }>('POST', path, body)
  return `${path}/${cr_id}`
}

/** Commits of binary files, which do not compress, and of as many bytes of text in small files. */
async function addHistory(work: string, bytesMax: number): Promise<void> {
  const child = Bun.spawn(['git', '-c', 'core.compression=1', 'fast-import', '--quiet', '--force'], {
    ...{ cwd: work, env: gitEnvironment, stdin: 'pipe', stdout: 'inherit', stderr: 'inherit' },
  })
  const file = async (path: string, content: Uint8Array) => {
    child.stdin.write(`M 100644 inline ${path}\ndata ${content.length}\n`)
    child.stdin.write(content)
    child.stdin.write('\n')
    await child.stdin.flush()
  }
  const start = (await run(['git', 'rev-parse', '--verify', '--quiet', 'main'], { cwd: work })).stdout.trim()
  for (let [commit, bytes] = [0, 0]; bytes < bytesMax; commit++) {
    const message = `Commit ${commit}`
    child.stdin.write(`commit refs/heads/main\ncommitter Ada <ada@example.test> ${1_700_000_000 + commit} +0000\n`)
    child.stdin.write(`data ${message.length}\n${message}\n`)
    if (commit === 0 && start !== '') child.stdin.write(`from ${start}\n`)
    const binary = randomBytes(Math.min(1024 ** 2, Math.ceil(bytesMax / 2)))
    await file(`assets/${commit % 50}.bin`, binary)
    bytes += binary.length
    for (let n = 0; n < 100; n++) {
      const text = Buffer.from(
        randomBytes(8 * 1024)
          .toString('hex')
          .replace(/.{60}/g, '$&\n'),
      )
      await file(`source/${n % 10}/${n}.txt`, text)
      bytes += text.length / 2
    }
  }
  child.stdin.end()
  if ((await child.exited) !== 0) throw new Error('git fast-import failed')
}

/** One that is on the disk, as a backup is when it says that it is done. */
async function tar(folder: string, into: string, ...flags: string[]): Promise<void> {
  const path = join(into, 'out.tar')
  await succeed(['tar', '--create', '--file', path, ...flags, '--directory', folder, '.'])
  await succeed(['sync', path])
}

async function backUp(place: string): Promise<void> {
  await succeed([program, 'self-host', 'backup', place, '--json'], server.env)
}

async function succeed(command: string[], env?: Record<string, string>): Promise<string> {
  const ran = await run(command, { cwd: dir, ...(env && { env }) })
  if (ran.code !== 0) throw new Error(`${command.join(' ')}: ${ran.stderr}${ran.stdout}`)
  return ran.stdout
}

async function bytesIn(folder: string): Promise<number> {
  return Number((await succeed(['du', '--summarize', '--bytes', folder])).split('\t')[0])
}

async function withFolder(use: (folder: string) => Promise<unknown>): Promise<void> {
  const folder = await mkdtemp(join(dir, 'place-'))
  await use(folder)
  await rm(folder, { recursive: true })
  await succeed(['sync'])
}

/** Requests at a steady rate until the other work ends, however slow the answers are. In ms. */
async function latencies(path: string, until: Promise<unknown>): Promise<number[]> {
  let isOver = false
  const over = until.finally(() => (isOver = true))
  const began = performance.now()
  const sent: Promise<number>[] = []
  for (let n = 0; !isOver; n++) {
    const at = began + (n * 1000) / readsPerSecond
    if (at > performance.now()) await Bun.sleep(at - performance.now())
    sent.push(timed(() => server.send('GET', n % 2 === 0 ? path : `${path}/diff`)))
  }
  await over
  return Promise.all(sent)
}

/** A small change in each repository, a tar of the files that are newer than the first backup, and the next backup. */
async function changesAfterABackup(projects: Project[], work: string, repositories: string) {
  const place = await mkdtemp(join(dir, 'place-'))
  const times = { tar: [] as number[], backup: [] as number[] }
  await backUp(place)
  for (let round = 0; round < rounds(3); round++) {
    const mark = join(dir, 'mark')
    await Bun.write(mark, '')
    await addHistory(work, bytesEach * changedPart)
    for (const project of projects) await git(work, 'push', '--quiet', gatewayOf(server, project), `main:more-${round}`)
    await withFolder(async (into) => {
      times.tar.push(await timed(() => tar(repositories, into, `--newer-mtime=${mark}`)))
      if ((await stat(join(into, 'out.tar'))).size < bytesEach * changedPart) throw new Error('tar found no change')
    })
    times.backup.push(await timed(() => backUp(place)))
  }
  return times
}

type Times = Record<'tar' | 'backup', number[]>

function report(all: Times, next: Times, quiet: number[], beside: Times): void {
  const figure = (what: string, { tar: floor, backup }: Times, floorName: string): Figure => ({
    ...{ what, ms: median(backup), floor: floorName, floorMs: median(floor) },
  })
  printFigures('A backup', [
    figure('the first one', all, 'tar of the repositories, synced'),
    figure('the next one, 1 % more', next, 'tar of the files that changed, synced'),
  ])
  const read = (percent: number, floor: string, among: number[]): Figure => ({
    what: `a read, ${percent} of 100 within`,
    ...{ ms: percentile(beside.backup, percent), floor, floorMs: percentile(among, percent) },
  })
  const percents = [50, 95, 99]
  printFigures(`Requests meanwhile (${beside.backup.length}; ${quiet.length} and ${beside.tar.length})`, [
    ...percents.map((percent) => read(percent, 'without a backup', quiet)),
    ...percents.map((percent) => read(percent, 'beside tar', beside.tar)),
  ])
}
