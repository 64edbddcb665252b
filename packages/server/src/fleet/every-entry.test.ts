/** docs/architecture/several-servers.md lists how every route, ingress and job behaves on a server that is not the home. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { routes } from '@svc/contract/openapi'
import { buildApp } from '../app.ts'
import { jobs } from '../scheduler/jobs.ts'
import { replicaPath } from '../projects/replicas/peer.ts'
import { makeTestApp, type TestApp } from '../test-app.ts'
import { locate } from './locate.ts'

const page = join(import.meta.dir, '../../../../docs/architecture/several-servers.md')
const id = '3f9a1a52-0c4b-4f6e-9d2a-1f0e6f5a7b11'
const credential = { authorization: 'Bearer token' }

let app: TestApp
let rows: string[][]
beforeAll(async () => {
  app = await makeTestApp()
  rows = (await readFile(page, 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim().replaceAll('`', ''))
        .slice(1, -1),
    )
}, 120_000)
afterAll(() => app.close())

/** Where a request goes by its head alone. */
function answeredBy(method: string, path: string, host = '127.0.0.1:8420'): string {
  const url = path.replaceAll(/:[A-Za-z]+\b/g, id).replace('*', 'x')
  const head = { method, url, headers: credential, rawHeaders: ['Host', host] } as unknown as IncomingMessage
  const located = locate({ publicUrl: 'http://127.0.0.1:8420', previewDomain: 'localhost' }, head)
  if (located === null) return 'any server'
  return located.kind === 'new project' ? 'the emptiest server' : 'the home'
}

/** A server names the one that it asks, so these are never passed on. */
function entryAnsweredBy(method: string, path: string): string {
  const server = answeredBy(method, path)
  return path.startsWith(replicaPath) && server === 'any server' ? 'the server that keeps the copy' : server
}

test('a route goes to the home exactly when its path names a project', () => {
  for (const { method, path, name } of routes) {
    const expected =
      name === 'createProject' ? 'the emptiest server' : path.includes('/:projectId') ? 'the home' : 'any server'
    expect([name, answeredBy(method, path)]).toEqual([name, expected])
  }
})

test('the page lists every entry that is no contract route, with the server that answers', () => {
  const known = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  const entries = new Map<string, string>()
  for (const { method, path } of buildApp(app.deps).routes)
    if (path !== '/*' && !known.has(`${method} ${path}`)) entries.set(path, entryAnsweredBy(method, path))
  const listed = new Map(rows.filter(([path]) => path!.startsWith('/')).map(([path, server]) => [path!, server!]))
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(entries))
})

test('previews, apps and upgrades go to the home', () => {
  expect(answeredBy('GET', '/', `3000--${id}.localhost:8420`)).toBe('the home')
  expect(answeredBy('GET', '/', 'site--project.localhost:8420')).toBe('the home')
  expect(answeredBy('GET', `/v1/projects/${id}/sessions/${id}/terminal`)).toBe('the home')
  expect(answeredBy('GET', `/v1/p/${id}/proxy/3000/`)).toBe('the home')
})

test('the page lists every job with its scope', () => {
  const listed = rows.filter(([name]) => jobs(app.deps).some((job) => job.name === name))
  expect(listed.map(([name, scope]) => [name, scope])).toEqual(jobs(app.deps).map(({ name, scope }) => [name, scope]))
})
