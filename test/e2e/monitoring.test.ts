/** Prometheus scrapes two servers as docs/operate/metrics.md shows, and the alert rules and the dashboard ask what it stored. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import { migrate } from '../../packages/server/src/db/migrate.ts'
import { createTestDatabase, withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { makeFirstCommit, removeFolder, root, until } from './harness.ts'
import { OneOfSeveral, sharedSettings } from './one-of-several.ts'

setDefaultTimeout(180_000)

const folder = join(root, 'deploy/monitoring')
/** scripts/machine.mjs unpacks them. */
const unpacked = join(root, 'node_modules/.cache/prometheus')
const [prometheus, promtool] = ['prometheus', 'promtool'].map(
  (name) => Bun.which(name) ?? (existsSync(join(unpacked, name)) ? join(unpacked, name) : null),
)

interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[]
}
interface Panel {
  title: string
  targets?: { expr: string; legendFormat: string }[]
}
const rules = (Bun.YAML.parse(readFileSync(join(folder, 'alerts.yml'), 'utf8')) as Rules).groups[0]!.rules
const { panels } = JSON.parse(readFileSync(join(folder, 'grafana.json'), 'utf8')) as { panels: Panel[] }

type Labels = Record<string, string>

const metricsToken = 'a-token-of-the-operator'
let database: Awaited<ReturnType<typeof createTestDatabase>>
let dir: string
let servers: [OneOfSeveral, OneOfSeveral]
let project: string
let scraping: Bun.Subprocess
let prometheusUrl: string

async function startServers(): Promise<void> {
  database = await createTestDatabase({ name: 'monitoring', prepare: migrate })
  const env = {
    ...sharedSettings(dir, database.url),
    SVC_PUBLIC_URL: 'http://127.0.0.1:8420',
    SVC_BOOTSTRAP_TOKEN: makeToken((count) => randomBytes(count)),
    SVC_METRICS_TOKEN: metricsToken,
    SVC_SANDBOX_DRIVER: 'none',
    SVC_REPLICA: 'none',
  }
  servers = [
    new OneOfSeveral(dir, 'ada', { ...env, SVC_BACKUP_DIR: join(dir, 'backups') }),
    new OneOfSeveral(dir, 'bob', env),
  ]
  for (const server of servers) await server.boot()
}

/** The example of the page, with the addresses and the token of these servers. */
async function startPrometheus(): Promise<void> {
  const page = readFileSync(join(root, 'docs/operate/metrics.md'), 'utf8')
  const shown = Bun.YAML.parse(/```yaml\n(scrape_configs:[^`]*)```/.exec(page)?.[1] ?? '') as {
    scrape_configs: object[]
  }
  const tokenFile = join(dir, 'svc-token')
  await writeFile(tokenFile, metricsToken)
  const targets = servers.map(({ url }) => new URL(url).host)
  const here = { authorization: { credentials_file: tokenFile }, static_configs: [{ targets }], scheme: 'http' }
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(folder, 'alerts.yml')],
    scrape_configs: shown.scrape_configs.map((each) => ({ ...each, ...here })),
  }
  const file = join(dir, 'prometheus.yml')
  await writeFile(file, JSON.stringify(config))
  prometheusUrl = `http://127.0.0.1:${await freePort()}`
  const flags = {
    'config.file': file,
    'storage.tsdb.path': join(dir, 'prometheus'),
    'web.listen-address': new URL(prometheusUrl).host,
    // A question about the future finds what is stored now.
    'query.lookback-delta': '1h',
  }
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
  scraping = Bun.spawn([prometheus!, ...args], { cwd: dir, stdout: 'ignore', stderr: Bun.file(join(dir, 'log')) })
  await until('Prometheus', async () => {
    if (scraping.exitCode !== null) throw new Error(readFileSync(join(dir, 'log'), 'utf8'))
    return (await fetch(`${prometheusUrl}/-/ready`).catch(() => null))?.ok
  })
}

async function ask<T>(path: string, params: Record<string, string> = {}): Promise<T> {
  const response = await fetch(`${prometheusUrl}/api/v1/${path}?${new URLSearchParams(params)}`)
  const { data, error } = (await response.json()) as { data: T; error?: string }
  if (error !== undefined) throw new Error(`${params.query}: ${error}`)
  return data
}

async function query(expr: string, at = Date.now()): Promise<Labels[]> {
  const { result } = await ask<{ result: { metric: Labels }[] }>('query', { query: expr, time: String(at / 1000) })
  return result.map(({ metric }) => metric)
}

/** Jobs and queues have series also while nothing fails or waits. */
const withoutThreshold = (expr: string) => expr.replace(/ (?:==|[<>]) [\d.* ]+$/, '')

/** Lists those without series, or whose series lack a label that their text names. */
async function lacking(asked: { name: string; expr: string; text: string; labels: RegExp }[]): Promise<string[]> {
  const found: string[] = []
  for (const { name, expr, text, labels } of asked) {
    const series = await query(expr)
    if (series.length === 0) found.push(`${name}: no series`)
    for (const [, label = ''] of text.matchAll(labels))
      if (series.some((each) => each[label] === undefined)) found.push(`${name}: no label ${label}`)
  }
  return found
}

async function waitForAll(asked: Parameters<typeof lacking>[0]): Promise<void> {
  const deadline = Date.now() + 60_000
  while ((await lacking(asked)).length > 0 && Date.now() < deadline) await Bun.sleep(500)
  expect(await lacking(asked)).toEqual([])
}

describe.skipIf(prometheus === null || promtool === null)('with Prometheus', () => {
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-monitoring-'))
    await startServers()
    await startPrometheus()
    const [ada] = servers
    project = (await ada.send<{ project_id: string }>('POST', '/v1/projects', { name: 'scraped' })).project_id
    await makeFirstCommit(ada, project)
    await until('a backup', () => query('svc_backup_last_timestamp_seconds').then(({ length }) => length > 0))
  })
  afterAll(async () => {
    scraping?.kill('SIGTERM')
    await scraping?.exited
    for (const server of servers ?? []) await server.end()
    await database?.drop()
    await removeFolder(dir)
  })

  test('promtool has no complaint about the metrics of a server', async () => {
    const text = await (await servers[0].api('/metrics', { token: metricsToken })).text()
    const child = Bun.spawn([promtool!, 'check', 'metrics'], {
      ...{ stdin: new TextEncoder().encode(text), stdout: 'pipe', stderr: 'pipe' },
    })
    const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    expect([await child.exited, `${output}${errors}`]).toEqual([0, ''])
  })

  test('each panel shows something on servers without failures, by labels that the stored series have', async () => {
    // One of the two is the home of the project, and the other one passes the request to it.
    for (const server of servers) await server.send('GET', `/v1/projects/${project}`)
    const shown = panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr, legendFormat }) => ({
        name: title,
        // Grafana fills these in.
        expr: withoutThreshold(expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*')),
        text: legendFormat,
        labels: /\{\{(\w+)\}\}/g,
      })),
    )
    await waitForAll(shown)
  })

  test('each alert measures something, by labels that the stored series have', async () => {
    // The job that reads this column fails from now on, and so do requests for triggers.
    await withClient(database.url, (client) => client.query('alter table triggers rename column project_id to away'))
    expect((await servers[0].api(`/v1/projects/${project}/triggers`)).status).toBe(500)
    const measured = rules.map(({ alert, expr, annotations }) => ({
      name: alert,
      expr: withoutThreshold(expr),
      text: annotations.summary!,
      labels: /\$labels\.(\w+)/g,
    }))
    await waitForAll(measured)
    const { groups } = await ask<{ groups: { rules: { name: string; health: string; lastError?: string }[] }[] }>(
      'rules',
    )
    expect(groups.flatMap((group) => group.rules).filter(({ health }) => health !== 'ok')).toEqual([])
  })

  test('no label of a server is one that Prometheus sets itself and renames', async () => {
    expect((await ask<string[]>('labels')).filter((label) => label.startsWith('exported_'))).toEqual([])
  })

  test('alerts name the job that fails, and the job that has not succeeded for five minutes', async () => {
    const failing = await until('the alert SvcJobFails', async () => {
      const { alerts } = await ask<{ alerts: { labels: Labels; annotations: Labels }[] }>('alerts')
      return alerts.find(({ labels }) => labels.alertname === 'SvcJobFails')
    })
    expect(failing.annotations.summary).toContain('"fire due triggers"')
    const stuck = await query(rules.find(({ alert }) => alert === 'SvcJobStuck')!.expr, Date.now() + 301_000)
    expect(stuck.map(({ task }) => task)).toContain('fire due triggers')
    expect(stuck.map(({ task }) => task)).not.toContain('sweep copies')
  })
})
