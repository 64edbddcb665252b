import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createServer, type AddressInfo, type Server } from 'node:net'
import type { ErrorBody, Project } from '@svc/contract'
import { makeTestApp, type TestApp } from '../testing.ts'

/** Every address is refused before a name is resolved or a packet sent; a listener waits where most of them lead. */

setDefaultTimeout(120_000)

let app: TestApp
let project: Project
let bait: Server
let visits = 0
let port = 0
beforeAll(async () => {
  bait = createServer((socket) => {
    visits++
    socket.destroy()
  })
  await new Promise<void>((resolve) => bait.listen(0, '127.0.0.1', resolve))
  port = (bait.address() as AddressInfo).port
  app = await makeTestApp({ configure: { allowPrivateGitHosts: false } })
  project = (await app.managedProject()).project
}, 120_000)
afterAll(async () => {
  await app.close()
  await new Promise<void>((resolve) => bait.close(() => resolve()))
})

const hosts = `
127.0.0.1 127.1 127.0.1 0 0.0.0.0 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.1. 127.255.255.254 0x7F.0.0.1
10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.255 100.100.100.200 169.254.169.254
2852039166 0xa9fea9fe 0251.0376.0251.0376 168.63.129.16 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1
224.0.0.1 240.0.0.1 255.255.255.255 localhost LOCALHOST localhost. a.localhost printer.local metadata.google.internal
git.internal box.lan nas.home db.corp router.home.arpa intranet git 127。0。0。1 ①②⑦.0.0.1 １２７.0.0.1
[::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::1]
[2002:7f00:1::] [2001:0:7f00:1::] [fe80::1] [fc00::1] [fd00:ec2::254] [fec0::1] [ff02::1] [2001:db8::1] [100::1]
`
  .trim()
  .split(/\s+/)

const shapes: ((host: string) => string)[] = [
  (host) => `https://${host}:${port}/a/b.git`,
  (host) => `https://${host}/a/b`,
  (host) => `http://${host}:${port}/a/b`,
  (host) => `ssh://git@${host}:${port}/a/b.git`,
  (host) => `git+ssh://git@${host}/a/b`,
  (host) => `git@${host}:a/b.git`,
]

const odd = () => [
  ...[
    '',
    ' ',
    '-',
    '--upload-pack=id',
    '-oProxyCommand=id',
    'ext::sh -c id',
    'ext::sh%20-c%20id',
    'fd::17/x',
    'file::/etc',
  ],
  ...[
    'git://127.0.0.1/a',
    'ftp://127.0.0.1/a',
    'rsync://127.0.0.1/a',
    'gopher://127.0.0.1/a',
    'dict://127.0.0.1/a',
    'ldap://127.0.0.1',
  ],
  ...[
    'data:text/plain,x',
    'javascript:alert(1)',
    'about:blank',
    'blob:x',
    'ws://127.0.0.1/a',
    'telnet://127.0.0.1',
    'tftp://127.0.0.1/a',
  ],
  ...[
    'file:///etc',
    'file://localhost/etc',
    'file:/etc',
    'FILE:///etc',
    '/etc',
    '//etc',
    '../x',
    './x',
    '~/x',
    'C:\\x',
    '\\\\h\\s',
  ],
  ...[
    'https://u:p@127.0.0.1/a',
    'https://t@127.0.0.1/a',
    'https://github.com@127.0.0.1/a',
    'https://github.com:443@127.0.0.1/a',
  ],
  ...[
    'https://127.0.0.1\\@github.com/a',
    'https://github.com\\@127.0.0.1/a',
    'https://127.0.0.1#@github.com/',
    'https://127.0.0.1?@github.com/',
  ],
  ...[
    'https:///127.0.0.1/a',
    'https:/127.0.0.1/a',
    'https:127.0.0.1/a',
    'https://',
    'http://',
    'ssh://',
    'https://:80/a',
    'https:// /a',
  ],
  ...[
    `https://127.0.0.1:${port}/a?x=1`,
    `https://127.0.0.1:${port}/a#x`,
    'https://127.0.0.1:0/a',
    'https://127.0.0.1:99999/a',
    'https://127.0.0.1:-1/a',
  ],
  ...[
    'https://127.0.0.1/%00',
    'https://127.0.0.1/%2e%2e/a',
    'https://127.0.0.1/a%0ab',
    'https://127.0.0.1/a\nb',
    'https://127.0.0.1/a\r\nHost: x',
  ],
  ...[
    'https://127.0.0.1/a\u202eb',
    'https://127.0.0.1/a\u2028b',
    'https://127.0.0.1/a b',
    'https://127.0.0.1\t/a',
    'https://127.0.0.1/\u0007',
  ],
  ...[
    'ssh://-oProxyCommand=id/x',
    'ssh://git@-oProxyCommand=id/x',
    'ssh://-oProxyCommand=id@127.0.0.1/x',
    'ssh://git:pw@127.0.0.1/x',
  ],
  ...[
    'ssh://127.0.0.1',
    'ssh://127.0.0.1/',
    'ssh://127.0.0.1/-x',
    'ssh://127.0.0.1:0/a',
    'ssh://127.0.0.1:70000/a',
    'ssh://127.0.0.1:22x/a',
  ],
  ...[
    'ssh://git@`id`/a',
    'ssh://git@$(id)/a',
    'ssh://git@127.0.0.1;id/a',
    "ssh://git@'x'/a",
    'ssh://git@127.0.0.1|id/a',
    'ssh://git@%h/a',
  ],
  ...[
    '-x@127.0.0.1:a',
    'git@-evil:a',
    'git@127.0.0.1:',
    'git@127.0.0.1:-x',
    '127.0.0.1:a',
    'git@[::1]:a',
    '::1:a',
    'git@127.0.0.1://x',
  ],
  ...[
    `https://127.0.0.1/${'a'.repeat(2100)}`,
    `https://${'a'.repeat(300)}.localhost/a`,
    `https://${'a.'.repeat(130)}localhost/a`,
  ],
  ...[
    'https://-127.0.0.1/a',
    'https://_/a',
    'https://*.localhost/a',
    'https://[::1/a',
    'https://[::1%25lo]/a',
    'https://[fe80::1%25eth0]/a',
    'https://[v1.x]/a',
  ],
]

const every = () => [...hosts.flatMap((host) => shapes.map((shape) => shape(host))), ...odd()]
const notRefused: string[] = []

async function judge(
  where: string,
  address: string,
  ask: () => Promise<{ status: number; body: ErrorBody }>,
): Promise<void> {
  const { status, body } = await ask()
  const isRefused = status === 400 && ['repository_refused', 'invalid'].includes(body.code)
  if (!isRefused) notRefused.push(`${where} ${JSON.stringify(address)}: ${status} ${body.code}`)
}

describe('more than three hundred hostile addresses', () => {
  test('this test has more than three hundred addresses', () =>
    expect(new Set(every()).size).toBeGreaterThanOrEqual(300))

  test('creates no project with a hostile address', async () => {
    const before = (await app.deps.db.selectFrom('projects').select('project_id').execute()).length
    for (const repo_url of every())
      await judge('create', repo_url, () =>
        app.request<ErrorBody>('POST', '/v1/projects', { body: { repo_url, git_token: 'canary' } }),
      )
    expect([notRefused, visits]).toEqual([[], 0])
    expect((await app.deps.db.selectFrom('projects').select('project_id').execute()).length).toBe(before)
  })

  test('sets no hostile address when a project is edited', async () => {
    const path = `/v1/projects/${project.project_id}`
    const before = (await app.request<Project>('GET', path)).body.repo_url
    for (const repo_url of odd().slice(0, 20)) await app.request('PATCH', path, { body: { repo_url } })
    expect([(await app.request<Project>('GET', path)).body.repo_url, visits]).toEqual([before, 0])
  })

  test('contacts no hostile address that a row has, and sends it no credential', async () => {
    const path = `/v1/projects/${project.project_id}`
    for (const repo_url of every()) {
      await app.deps.db
        .updateTable('projects')
        .set({ repo_url, managed: false })
        .where('project_id', '=', project.project_id)
        .execute()
      await judge('edit', repo_url, () => app.request<ErrorBody>('PATCH', path, { body: { git_token: 'canary' } }))
      await judge('session', repo_url, () => app.request<ErrorBody>('POST', `${path}/sessions`, { body: {} }))
    }
    expect([notRefused, visits]).toEqual([[], 0])
  })
})
