/** Measures the cost of an idle session in each of its steps, how soon it answers from them, and how many fit into 16 GB. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeFirstCommit, Server, until } from '../test/e2e/harness.ts'
import { median, printFigures } from './report/figures.ts'
import {
  bytesOf,
  type Measured,
  processorClock,
  processorMsBetween,
  processorTimesOf,
  startedProcesses,
} from './report/processes.ts'
import { runtimeBoot } from './report/runtime-boot.ts'
import { modelThatAnswersAtOnce, remove, start, untilFirstWord } from './report/session-world.ts'

const sessions = Number(process.env.BENCH_SESSIONS ?? 4)
const answers = Number(process.env.BENCH_ANSWERS ?? 5)
/** Sandboxes that the next server takes over. */
const adopted = Number(process.env.BENCH_ADOPTED ?? 20)
/** How long the processor time of idle sessions is measured. */
const idleMs = Number(process.env.BENCH_IDLE_SECONDS ?? 30) * 1000
/** A program that just started or answered still tidies up. */
const settleMs = 10_000
/** The server looks once a minute, and closes its connection to a sandbox that sleeps. */
const asleepSettleMs = 90_000

interface Step {
  name: string
  megabytes: number
  /** Megabytes of each kind of process, for one session. */
  parts: string
  /** Milliseconds of each kind of process, for one session and second. */
  processorMs: Map<string, number>
  answerMs: number[]
}

const model = modelThatAnswersAtOnce()
const dir = await mkdtemp(join(tmpdir(), 'svc-bench-'))
try {
  const floor = await bareRuntime()
  const steps = [
    await measure('running', { freezeSeconds: '0', stopSeconds: '0' }, async () => {}),
    await measure('frozen', { freezeSeconds: '2', stopSeconds: '0' }, untilAsleep),
    await measure('stopped', { freezeSeconds: '2', stopSeconds: '1' }, untilStopped),
  ]
  print(floor, steps)
  await printAdoption()
} finally {
  await model.stop()
  await rm(dir, { recursive: true, force: true })
}

/** The same runtime without a session, a sandbox or a daemon. */
async function bareRuntime() {
  const boots: number[] = []
  const answers: number[] = []
  let [megabytes, processorMs] = [0, 0]
  for (let n = 0; n < 3; n++) {
    const whenReady = async ({ pid, port, startedAt }: { pid: number; port: number; startedAt: number }) => {
      await answerOf(port)
      answers.push(performance.now() - startedAt)
      if (n > 0) return
      processorMs = sumOf(await idleCost([{ pid, name: 'opencode' }]))
      megabytes = bytesOf([{ pid }]) / 1024 ** 2
    }
    boots.push(await runtimeBoot(join(dir, `runtime-${n}`), whenReady, model.runtimeConfig))
  }
  return { bootMs: median(boots), answerMs: median(answers), megabytes, processorMs }
}

/** A whole turn, as an event with its first word would come a moment earlier. */
async function answerOf(port: number): Promise<void> {
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!reply.ok) throw new Error(`The runtime answered ${reply.status} to ${path}: ${await reply.text()}`)
    return (await reply.json()) as { id: string }
  }
  const { id } = await post('/session', {})
  await post(`/session/${id}/message`, { parts: [{ type: 'text', text: 'Say a word.' }] })
}

/** Milliseconds a second of each kind of process. */
async function idleCost(processes: Measured[], afterMs = settleMs): Promise<Map<string, number>> {
  await Bun.sleep(afterMs)
  const kinds = [...Map.groupBy(processes, ({ name }) => name)]
  const before = processorTimesOf(processes)
  const began = performance.now()
  await Bun.sleep(idleMs)
  const seconds = (performance.now() - began) / 1000
  return new Map(
    kinds.map(([name, theirs]) => [name, processorMsBetween(before, processorTimesOf(theirs)) / seconds] as const),
  )
}

function sumOf(costs: Map<string, number>): number {
  return [...costs.values()].reduce((sum, ms) => sum + ms, 0)
}

/** Sessions after their first turn, in the step that `reach` waits for. */
async function measure(
  name: string,
  { freezeSeconds, stopSeconds }: { freezeSeconds: string; stopSeconds: string },
  reach: (url: string) => Promise<unknown>,
): Promise<Step> {
  const settings = { SVC_RUNTIME_FREEZE_SECONDS: freezeSeconds, SVC_RUNTIME_STOP_SECONDS: stopSeconds }
  const server = await Server.start({ ...model.environment, ...settings })
  try {
    const { project_id: project } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'bench'])
    await makeFirstCommit(server, project)
    const urls = new Map<string, string>()
    for (let n = 0; n < sessions; n++) {
      const { id } = await start(server, project)
      await untilFirstWord(server, project, id)
      const { sandbox_url: url } = await server.send<{ sandbox_url: string }>(
        'GET',
        `/v1/projects/${project}/sessions/${id}`,
      )
      urls.set(id, url)
    }
    for (const url of urls.values()) await reach(url)
    const processes = startedProcesses(server.pid)
    const sleeps = freezeSeconds !== '0'
    const costs = await idleCost(processes, sleeps ? asleepSettleMs : settleMs)
    const processorMs = new Map([...costs].map(([process, ms]) => [process, ms / sessions]))
    const megabytes = bytesOf(processes) / sessions / 1024 ** 2
    const parts = partsOf(processes)
    const [id, url] = [...urls][0]!
    const answerMs: number[] = []
    for (let n = 0; n < answers; n++) {
      await reach(url)
      answerMs.push(await untilFirstWord(server, project, id))
    }
    for (const each of urls.keys()) await remove(server, project, each)
    return { name, megabytes, parts, processorMs, answerMs }
  } finally {
    await server.end()
  }
}

/** A server that is killed, and the next one, until it follows every sandbox again. */
async function printAdoption(): Promise<void> {
  const settings = { SVC_SANDBOX_LEASE_SECONDS: '600', SVC_RUNTIME_FREEZE_SECONDS: '2' }
  const server = await Server.start({ ...model.environment, ...settings })
  try {
    const { project_id: project } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'bench'])
    await makeFirstCommit(server, project)
    for (let n = 0; n < adopted; n++) await start(server, project)
    await server.kill('SIGKILL')
    const began = performance.now()
    await server.boot()
    const readyMs = performance.now() - began
    const lines = () => server.output.split('a session goes on with the sandbox of an earlier server').length - 1
    await until('every sandbox to be adopted', () => lines() === adopted)
    const ms = (performance.now() - began).toFixed(0)
    console.log(
      `\n${adopted} sandboxes adopted ${ms} ms after the start of the next server (ready ${readyMs.toFixed(0)} ms)`,
    )
  } finally {
    await server.svc(['self-host', 'stop', '--sessions'], { env: server.env })
    await server.exited
    await rm(server.dir, { recursive: true, force: true })
  }
}

interface Health {
  runtime: string
  runtime_asleep_ms: number | null
}

/** The daemon answers this without its runtime. */
async function healthOf(url: string): Promise<Health> {
  return (await (await fetch(`${url}/svc/health`)).json()) as Health
}

function untilAsleep(url: string) {
  return until('the runtime to sleep', async () => (await healthOf(url)).runtime_asleep_ms !== null)
}

function untilStopped(url: string) {
  return until('the runtime to stop', async () => (await healthOf(url)).runtime === 'stopped')
}

function partsOf(processes: Measured[]): string {
  return [...Map.groupBy(processes, ({ name }) => name)]
    .map(([name, theirs]) => `${name} ${(bytesOf(theirs) / sessions / 1024 ** 2).toFixed(0)}`)
    .join(', ')
}

function print(floor: Awaited<ReturnType<typeof bareRuntime>>, steps: Step[]): void {
  const running = median(steps[0]!.answerMs)
  printFigures(
    'The first word of an answer',
    steps.flatMap(({ name, answerMs }) => [
      { what: `from ${name}`, ms: median(answerMs), floor: 'from running', floorMs: running },
      { what: '', ms: median(answerMs), floor: "the runtime's own boot", floorMs: floor.bootMs },
      { what: '', ms: median(answerMs), floor: 'boot and first answer of a bare runtime', floorMs: floor.answerMs },
    ]),
  )
  console.log(
    `\nAn idle session, of ${sessions} (proportional set size; processor time of ${idleMs / 1000} s, ${processorClock})`,
  )
  console.log(`bare runtime: ${floor.megabytes.toFixed(0)} MiB, ${floor.processorMs.toFixed(1)} ms/s`)
  for (const { name, megabytes, parts, processorMs } of steps) {
    const each = [...processorMs].map(([process, ms]) => `${process} ${ms.toFixed(3)}`).join(', ')
    console.log(
      `${name}: ${megabytes.toFixed(0)} MiB (${parts}), ${sumOf(processorMs).toFixed(3)} ms/s (${each}); ${Math.floor((16 * 1024) / megabytes)} in 16 GB`,
    )
  }
}
