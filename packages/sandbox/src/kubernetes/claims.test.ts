import { afterAll, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'

import { poolsOf } from './claims.ts'
import { createClient } from './client.ts'
import { createKubernetesDriver } from './driver.ts'
import { podSpec } from './pod.ts'

const removed: string[] = []
const sent: { path: string; body: unknown }[] = []

let templates: object[] = []

/** An API server that allows and accepts everything, but makes no pods. */
const api = createServer(async (request, response) => {
  const path = request.url!.split('?')[0]!
  if (request.method === 'DELETE' && path.includes('sandboxwarmpools')) removed.push(path.split('/').at(-1)!)
  if (request.method === 'POST' || request.method === 'PATCH') sent.push({ path, body: await json(request) })
  else request.resume()
  const code = path.endsWith('/pods') ? 422 : 200
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ gitVersion: 'v1.34.4', status: { allowed: true }, items: templates }))
})
await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
const server = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
const folder = await mkdtemp(join(tmpdir(), 'svc-claims-'))
afterAll(async () => {
  api.close()
  await rm(folder, { recursive: true, force: true })
})

const settings = {
  ...{ image: 'registry.example/svc:1', projectImages: [], imagePullSecrets: ['registry'], runtimeClass: null },
  ...{ nodeSelector: {}, workspaceStorageClass: null as string | null },
}
const limits = { memoryBytesMax: 1024 ** 3, cpuMax: 1, processesMax: 64, diskBytesMax: 1024 ** 3 }
const access = { namespace: 'default', tls: {}, headers: async () => ({}), isInside: false }
const client = createClient({ server, ...access })

test('a pool whose pod is still waited for stays, however many kinds of limits start', async () => {
  const pools = poolsOf(client, 'default', 'svc-', {})
  const ensured: string[] = []
  for (let limits = 0; limits < 5; limits++) ensured.push(await pools.ensure({ limits }, {}))
  expect(removed).toEqual([])
  await pools.left(ensured[1]!)
  await pools.left(ensured[0]!)
  expect(removed).toEqual([ensured[1]!, ensured[0]!])
  for (const pool of ensured.slice(2)) await pools.left(pool)
  expect(removed).toHaveLength(2)
})

test('pods and the templates of pools name the Secrets with which nodes fetch their images', async () => {
  const pools = poolsOf(client, 'default', 'svc-', {})
  await pools.ensure(podSpec(limits, { settings, serverKey: 'KEY', blankSeconds: 0 }), {})
  const template = sent.findLast(({ path }) => path.includes('/sandboxtemplates/'))!.body
  const imagePullSecrets = [{ name: 'registry' }]
  expect(template).toMatchObject({ spec: { podTemplate: { spec: { imagePullSecrets } } } })

  const kubeconfig = join(folder, 'config')
  const entry = { cluster: { server }, context: { cluster: 'one', user: 'one' }, user: { token: 'token' }, name: 'one' }
  const one = { clusters: [entry], contexts: [entry], users: [entry], 'current-context': 'one' }
  await writeFile(kubeconfig, JSON.stringify(one))
  const driver = createKubernetesDriver({
    ...{ ...settings, namespace: 'agents', stateDir: folder, access: { kubeconfig, service: null } },
    ...{ owner: 'x', seed: Buffer.alloc(32), log: () => {} },
  })
  await driver.probe()
  const pod = sent.findLast(({ path }) => path === '/api/v1/namespaces/agents/pods')!.body
  expect(pod).toMatchObject({ spec: { imagePullSecrets } })
})

test('pools of an earlier server are removed when their pods are made in another way', async () => {
  const template = (name: string, changed: Partial<typeof settings> = {}) => {
    const spec = podSpec(limits, { settings: { ...settings, ...changed }, serverKey: 'KEY', blankSeconds: 0 })
    return { metadata: { name }, spec: { podTemplate: { spec } } }
  }
  templates = [
    template('same'),
    template('program', { image: 'registry.example/svc:0' }),
    template('secrets', { imagePullSecrets: [] }),
    template('nodes', { nodeSelector: { pool: 'agents' } }),
  ]
  removed.length = 0
  await poolsOf(client, 'default', 'svc-', {}).sweep(settings)
  expect(removed).toEqual(['program', 'secrets', 'nodes'])
})

test('pools of an earlier server are removed when their work trees are stored elsewhere', async () => {
  const large = { ...limits, diskBytesMax: 4 * limits.memoryBytesMax }
  const template = (name: string, workspaceStorageClass: string | null, of = large) => {
    const spec = podSpec(of, { settings: { ...settings, workspaceStorageClass }, serverKey: 'KEY', blankSeconds: 0 })
    return { metadata: { name }, spec: { podTemplate: { spec } } }
  }
  templates = [
    template('fast', 'fast'),
    template('slow', 'slow'),
    template('memory', null),
    // A small one is in memory in any case.
    template('small', null, limits),
  ]
  const pools = poolsOf(client, 'default', 'svc-', {})
  const sweptWith = async (workspaceStorageClass: string | null) => {
    removed.length = 0
    await pools.sweep({ ...settings, workspaceStorageClass })
    return [...removed]
  }
  expect(await sweptWith('fast')).toEqual(['slow', 'memory'])
  expect(await sweptWith(null)).toEqual(['fast', 'slow'])
})

test('of the pools of earlier servers the newest stay, as many as one server keeps', async () => {
  const template = (day: number, name = `of-day-${day}`) => {
    const of = { ...limits, memoryBytesMax: limits.memoryBytesMax * day }
    const spec = podSpec(of, { settings, serverKey: 'KEY', blankSeconds: 0 })
    return { metadata: { name, creationTimestamp: `2026-11-0${day}T10:00:00Z` }, spec: { podTemplate: { spec } } }
  }
  const pools = poolsOf(client, 'default', 'svc-', {})
  const own = await pools.ensure(podSpec(limits, { settings, serverKey: 'KEY', blankSeconds: 0 }), {})
  templates = [template(3), template(1, own), template(5), template(2), template(4)]
  removed.length = 0
  await pools.sweep(settings)
  expect(removed).toEqual(['of-day-2'])
})
