/** The alert rules and the Grafana dashboard in deploy/monitoring, against promtool and the metrics of a real server. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../app.ts'
import { ScheduledBackups } from '../backup/schedule.ts'
import { readNetwork } from '../config/network.ts'
import { Settings } from '../config/settings.ts'
import { Listener } from '../listen.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

const root = join(import.meta.dir, '../../../..')
const folder = join(root, 'deploy/monitoring')
/** scripts/machine.mjs unpacks it. */
const unpacked = join(root, 'node_modules/.cache/prometheus/promtool')
const promtool = Bun.which('promtool') ?? (existsSync(unpacked) ? unpacked : null)

interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[]
}
interface Panel {
  title: string
  targets?: { expr: string }[]
}
const rules = (Bun.YAML.parse(readFileSync(join(folder, 'alerts.yml'), 'utf8')) as Rules).groups[0]!.rules
const { panels } = JSON.parse(readFileSync(join(folder, 'grafana.json'), 'utf8')) as { panels: Panel[] }
const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

let app: TestApp
let dir: string
beforeAll(async () => {
  app = await makeTestApp()
  dir = await mkdtemp(join(tmpdir(), 'svc-monitoring-'))
}, 120_000)
afterAll(async () => {
  await app.close()
  await rm(dir, { recursive: true })
})

async function check(...args: string[]): Promise<string> {
  const child = Bun.spawn([promtool!, ...args], { cwd: folder, stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return (await child.exited) === 0 ? 'good' : `${output}${errors}`
}

test.skipIf(promtool === null)('each alert fires when it should, and stays quiet otherwise', async () => {
  expect(await check('check', 'rules', 'alerts.yml')).toBe('good')
  expect(await check('test', 'rules', 'alerts.test.yml')).toBe('good')
})

test('each alert has a test in which it fires and one in which it does not, and says what to do', () => {
  const { tests } = Bun.YAML.parse(readFileSync(join(folder, 'alerts.test.yml'), 'utf8')) as {
    tests: { name: string }[]
  }
  for (const { alert, annotations } of rules) {
    const names = tests.map(({ name }) => name).filter((name) => name.startsWith(`${alert} `))
    expect([alert, names.length, Object.keys(annotations)]).toEqual([alert, 2, ['summary', 'description']])
  }
})

test.skipIf(promtool === null)('Prometheus understands every panel of the dashboard', async () => {
  const record = shown.map((expr, n) => ({
    record: `panel:${n}`,
    // Grafana fills these in.
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', 'a'),
  }))
  const file = join(dir, 'panels.yml')
  await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules: record }] }))
  expect(await check('check', 'rules', file)).toBe('good')
})

test('alerts and panels ask for metrics that a server has', async () => {
  const listener = new Listener({ fromSandbox: false, network: readNetwork(new Settings({})) })
  const served = buildApp(app.deps)
  const address = `http://127.0.0.1:${await listener.onPort('127.0.0.1', 0)}`
  listener.answerWith((request, env) => served.fetch(request, env))
  app.deps.metrics.watchListener(listener)
  app.deps.metrics.watchPools({})
  app.deps.metrics.watchProcess()
  const backups = new ScheduledBackups({
    ...app.deps,
    config: { ...app.deps.config, backups: { place: dir, everyMs: 1, keep: null, keyFile: null } },
  })
  expect(backups).toBeDefined()
  const { host } = new URL(app.deps.config.publicUrl)
  const text = await (await fetch(`${address}/metrics`, { headers: { host } })).text()
  await listener.close()
  const known = [...text.matchAll(/^# TYPE (\S+) (\w+)/gm)].flatMap(([, name, type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name!],
  )
  const asked = [...rules.map(({ expr }) => expr), ...shown].flatMap(
    (expr) => expr.match(/\b(?:svc|process|nodejs)_\w+/g) ?? [],
  )
  expect([...new Set(asked)].filter((name) => !known.includes(name))).toEqual([])
})
