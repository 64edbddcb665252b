/**
 * How long a session takes to start, warm and cold, and to produce its first word; the cost of many concurrent and of idle
 * sessions.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeFirstCommit, Server, until } from '../test/e2e/harness.ts'
import { type Figure, median, percentile, printFigures, timed } from './report/figures.ts'
import { runtimeBoot } from './report/runtime-boot.ts'
import { bytesOf, startedProcesses } from './report/processes.ts'
import { modelThatAnswersAtOnce, remove, start, untilFirstWord } from './report/session-world.ts'

const colds = Number(process.env.BENCH_STARTS ?? 7)
const warms = Number(process.env.BENCH_WARM ?? 20)
const atOnce = Number(process.env.BENCH_AT_ONCE ?? 20)

type Phases = Map<string, number[]>

const model = modelThatAnswersAtOnce()
const dir = await mkdtemp(join(tmpdir(), 'svc-bench-'))
try {
  await withServer('1', warm)
  await withServer('0', async (server, project) => {
    await cold(server, project)
    await manyAtOnce(server, project)
  })
} finally {
  await model.stop()
  await rm(dir, { recursive: true, force: true })
}

async function withServer(warmSandboxes: string, work: (server: Server, project: string) => Promise<void>) {
  const server = await Server.start({ ...model.environment, SVC_WARM_SANDBOXES: warmSandboxes })
  try {
    const { project_id } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'bench'])
    await makeFirstCommit(server, project_id)
    await work(server, project_id)
  } finally {
    await server.end()
  }
}

async function cold(server: Server, project: string): Promise<void> {
  const [boots, running, words] = [[], [], []] as [number[], number[], number[]]
  const phases: Phases = new Map()
  for (let n = 0; n < colds; n++) {
    boots.push(await runtimeBoot(join(dir, `runtime-${n}`)))
    const session = await start(server, project)
    running.push(session.runningMs)
    await note(phases, server, project, session.id)
    words.push(await untilFirstWord(server, project, session.id))
    await remove(server, project, session.id)
  }
  const floor = "the runtime's own boot, outside a sandbox"
  printFigures('A session from nothing', [
    { what: 'create to running', ms: median(running), floor, floorMs: median(boots) },
    ...phaseFigures(phases),
    { what: 'prompt to first token, sent at once', ms: median(words), floor: '', floorMs: null },
  ])
}

async function manyAtOnce(server: Server, project: string): Promise<void> {
  const boot = await runtimeBoot(join(dir, 'runtime-at-once'))
  const started = await Promise.all(Array.from({ length: atOnce }, () => start(server, project)))
  const times = started.map(({ runningMs }) => runningMs)
  const bytes = bytesOf(startedProcesses(server.pid)) / atOnce
  printFigures(`${atOnce} sessions from nothing at once`, [
    { what: 'create to running, the median one', ms: median(times), floor: '', floorMs: null },
    {
      what: 'the last one',
      ms: Math.max(...times),
      floor: `${atOnce} boots of the runtime in a row`,
      floorMs: atOnce * boot,
    },
  ])
  console.log(`\nMemory of an idle session: ${Math.round(bytes / 1024 ** 2)} MiB of its own (proportional set size).`)
  for (const { id } of started) await remove(server, project, id)
}

async function warm(server: Server, project: string): Promise<void> {
  const [answered, running, words, asking] = [[], [], [], []] as [number[], number[], number[], number[]]
  const phases: Phases = new Map()
  const first = await start(server, project)
  let cold = 0
  for (let n = 0; n < warms; n++) {
    const waiting = () => server.output.split('a warm sandbox is ready').length - 1
    await until('a sandbox to wait', async () => waiting() > n)
    asking.push(await timed(() => server.api('/v1/token')))
    const session = await start(server, project)
    answered.push(session.answeredMs)
    running.push(session.runningMs)
    if (!(await note(phases, server, project, session.id)).includes('claim')) cold++
    words.push(await untilFirstWord(server, project, session.id))
    await remove(server, project, session.id)
  }
  await remove(server, project, first.id)
  const floor = 'a trivial authenticated request'
  const floorMs = median(asking)
  const lines: Figure[] = [
    { what: 'create to its answer', ms: median(answered), floor, floorMs },
    { what: 'create to running, p50', ms: median(running), floor, floorMs },
    { what: 'create to running, p95', ms: percentile(running, 95), floor, floorMs },
    ...phaseFigures(phases),
    { what: 'prompt to first token over the model, p50', ms: median(words), floor: '', floorMs: null },
    { what: 'prompt to first token over the model, p95', ms: percentile(words, 95), floor: '', floorMs: null },
  ]
  printFigures(`A session that finds a warm sandbox, ${warms} times`, lines)
  if (cold > 0) console.log(`${cold} of them started from nothing.`)
}

async function note(phases: Phases, server: Server, project: string, id: string): Promise<string[]> {
  const path = `/v1/projects/${project}/sessions/${id}/timeline`
  const { phases: timeline } = await server.send<{ phases: { name: string; ms: number | null }[] }>('GET', path)
  for (const { name, ms } of timeline) phases.set(name, [...(phases.get(name) ?? []), ms ?? 0])
  return timeline.map(({ name }) => name)
}

function phaseFigures(phases: Phases): Figure[] {
  return [...phases].map(([name, ms]) => ({ what: `  ${name}`, ms: median(ms), floor: '', floorMs: null }))
}
