/**
 * How long a session takes to start, warm and cold, and to produce its first word; the cost of many concurrent and of idle
 * sessions.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventsOf } from '../packages/server/src/testing-events.ts'
import { makeFirstCommit, Server, until } from '../test/e2e/harness.ts'
import { procFile, runningProcesses } from '../test/processes.ts'
import { below } from '../test/torture/sandbox-leaks.ts'
import { type Figure, median, percentile, printFigures, timed } from './report/figures.ts'
import { runtimeBoot } from './report/runtime-boot.ts'

const colds = Number(process.env.BENCH_STARTS ?? 7)
const warms = Number(process.env.BENCH_WARM ?? 20)
const atOnce = Number(process.env.BENCH_AT_ONCE ?? 20)

interface Session {
  session_id: string
  status: string
  error: string | null
}
type Phases = Map<string, number[]>

/** A model that responds at once, so that the measurement covers everything around it. */
const model = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => firstWord() })
const dir = await mkdtemp(join(tmpdir(), 'svc-bench-'))
const environment = { SVC_LLM_UPSTREAM_URL: `http://127.0.0.1:${model.port}/v1`, SVC_LLM_MODEL: 'bench' }
try {
  await withServer('1', warm)
  await withServer('0', async (server, project) => {
    await cold(server, project)
    await manyAtOnce(server, project)
  })
} finally {
  await model.stop(true)
  await rm(dir, { recursive: true, force: true })
}

async function withServer(warmSandboxes: string, work: (server: Server, project: string) => Promise<void>) {
  const server = await Server.start({ ...environment, SVC_WARM_SANDBOXES: warmSandboxes })
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
  const bytes = sandboxBytes(server.pid) / atOnce
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

/** As a client sees it: the response, then `running` on the event stream. */
async function start(server: Server, project: string) {
  const began = performance.now()
  const { session_id: id } = await server.send<Session>('POST', `/v1/projects/${project}/sessions`, {})
  const answeredMs = performance.now() - began
  await onEvents(server, project, id, (event) => {
    const { session } = event as { session?: Session }
    if (session?.status === 'failed') throw new Error(session.error ?? 'failed')
    return session?.status === 'running'
  })
  return { id, answeredMs, runningMs: performance.now() - began }
}

async function untilFirstWord(server: Server, project: string, id: string): Promise<number> {
  let began = 0
  await onEvents(
    server,
    project,
    id,
    (event) => {
      const { message } = event as { message?: { role: string; parts: { type: string; text?: string }[] } }
      return message?.role === 'assistant' && message.parts.some((part) => part.type === 'text' && part.text !== '')
    },
    async () => {
      began = performance.now()
      await server.send('POST', `/v1/projects/${project}/sessions/${id}/prompt`, { text: 'Say a word.' })
    },
  )
  return performance.now() - began
}

/** Reads a session's events until one matches. Calls `once` when the stream is open. */
async function onEvents(
  server: Server,
  project: string,
  id: string,
  fits: (event: unknown) => boolean | undefined,
  once: () => Promise<void> = async () => {},
): Promise<void> {
  const closing = new AbortController()
  const { signal } = closing
  const response = await server.api(`/v1/projects/${project}/sessions/${id}/events`, { signal })
  let found = false
  const asked = once()
  for await (const { data } of eventsOf(response.body!)) {
    found = fits(JSON.parse(data)) === true
    if (found) break
  }
  closing.abort()
  await asked
  if (!found) throw new Error('The events ended early.')
}

async function remove(server: Server, project: string, id: string): Promise<void> {
  await server.api(`/v1/projects/${project}/sessions/${id}`, { method: 'DELETE' })
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

function firstWord(): Response {
  const base = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'bench' }
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const text = `${chunk({ role: 'assistant', content: 'word' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
}

/** Every process in a sandbox of this server; shared pages are divided by the number of sharers. */
function sandboxBytes(serverPid: number): number {
  const names = runningProcesses()
  let kilobytes = 0
  for (const { pid } of below(serverPid))
    if (names.get(pid)?.name.startsWith('postgres') === false)
      kilobytes += Number(/^Pss:\s+(\d+)/m.exec(procFile(pid, 'smaps_rollup'))?.[1] ?? 0)
  return kilobytes * 1024
}
