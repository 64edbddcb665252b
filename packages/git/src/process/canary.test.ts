import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { createBranch } from '../hosts/branch.ts'
import { openMirror, syncMirror } from '../mirror/mirror.ts'
import { probeRemote } from '../mirror/probe.ts'
import type { Remote } from '../repository.ts'
import { makeRepo, serveHttpBackend, tempDir, type HttpBackend, type TestRepository } from '../testing.ts'
import { readTips } from '../refs/tips.ts'
import { judgeRepositoryUrl } from '../remote/url.ts'

/** Where git and our own client must never go. Everything here is on loopback. */

setDefaultTimeout(120_000)

let origin: TestRepository
let temp: Awaited<ReturnType<typeof tempDir>>
let sha: string
beforeAll(async () => {
  origin = await makeRepo({ main: { a: '1\n' } })
  temp = await tempDir()
  sha = await origin.tip('main')
})
afterAll(async () => {
  await origin.remove()
  await temp.remove()
})

/** A listener that answers nothing and counts who came. */
async function canary(host: string, port = 0): Promise<{ port: number; visits(): number; close(): Promise<void> }> {
  let visits = 0
  const server = await listen(host, port, (socket) => {
    visits++
    socket.destroy()
  })
  return { port: portOf(server), visits: () => visits, close: () => closed(server) }
}

function listen(host: string, port: number, serve: Parameters<typeof createServer>[1]): Promise<Server> {
  const server = createServer(serve as never)
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve(server))
  })
}
const portOf = (server: Server) => (server.address() as AddressInfo).port
const closed = (server: Server) => new Promise<void>((resolve) => server.close(() => resolve()))

let count = 0
/** Everything that talks to a host. Whether it works is the test's to say. */
async function useEverything(remote: Remote): Promise<string[]> {
  const mirror = await openMirror(join(temp.path, `mirror-${++count}.git`), remote)
  const branch = `branch-${count}`
  const outcomes = [
    await readTips(mirror, 'all'),
    await readTips(mirror, ['main']),
    await probeRemote(remote),
    await syncMirror(mirror),
    await createBranch(mirror, { branch, sha }),
  ]
  return outcomes.map((outcome): string => outcome.kind)
}

describe('redirects', () => {
  let host: HttpBackend
  let bait: Awaited<ReturnType<typeof canary>>
  let to: string | ((path: string) => string | undefined)
  beforeEach(async () => {
    bait = await canary('127.0.0.1')
    host = await serveHttpBackend(origin.dir, {
      before: ({ url = '' }) => (typeof to === 'string' ? to + url : to(url)),
    })
  })
  afterEach(async () => {
    await host.close()
    await bait.close()
  })
  const remote = (): Remote => ({
    url: host.url,
    credential: { username: 'u', password: 'canary' },
    allowProtocols: ['http'],
  })

  test.each(['127.0.0.1', '127.1', '2130706433', 'localhost', '[::ffff:127.0.0.1]'])(
    'does not follow a redirect to %s',
    async (name) => {
      to = `http://${name}:${bait.port}`
      expect((await useEverything(remote())).filter((kind) => kind !== 'unreachable' && kind !== 'rejected')).toEqual(
        [],
      )
      expect(bait.visits()).toBe(0)
    },
  )

  test('does not follow a redirect of later requests only', async () => {
    to = (path) => (path.includes('info/refs') ? undefined : `http://127.0.0.1:${bait.port}${path}`)
    await useEverything(remote())
    expect(bait.visits()).toBe(0)
  })

  test('does not follow a redirect to another protocol', async () => {
    for (const target of ['file:///etc', 'ext::sh -c id', 'git://127.0.0.1/x', `ftp://127.0.0.1:${bait.port}/x`]) {
      to = () => target
      await useEverything(remote())
    }
    expect(bait.visits()).toBe(0)
  })
})

describe('a host name that resolves differently after the check', () => {
  test('connects git and our own client only to the checked addresses', async () => {
    const backend = await serveHttpBackend(origin.dir)
    const real = await listen('127.0.0.2', 0, (socket) => {
      const onward = connect(Number(new URL(backend.url).port), '127.0.0.1')
      socket.pipe(onward).pipe(socket)
      for (const end of [socket, onward]) end.on('error', () => end.destroy())
    })
    // By the machine's own names `localhost` is here, which is where the rebound name would lead.
    const bait = await canary('127.0.0.1', portOf(real))
    const url = `http://localhost:${portOf(real)}/repo.git`
    const remote: Remote = { url, pin: ['127.0.0.2'], credential: null, allowProtocols: ['http'] }
    expect(await useEverything(remote)).toEqual(['tips', 'tips', 'writable', 'present', 'created'])
    expect(bait.visits()).toBe(0)
    // Without the pin it would have been reached, which shows that the bait was in the way.
    await readTips({ dir: join(temp.path, 'x.git'), remote: { ...remote, pin: [] } }, 'all')
    expect(bait.visits()).toBeGreaterThan(0)
    await backend.close()
    real.close()
    await bait.close()
  })

  test('refuses a name when any of its addresses is private, and resolves it once', async () => {
    const asked: string[] = []
    for (const answers of [
      ['127.0.0.1'],
      ['140.82.121.4', '127.0.0.1'],
      ['140.82.121.4', '::1'],
      ['::ffff:10.0.0.1'],
      [],
    ]) {
      const verdict = await judgeRepositoryUrl(
        'https://rebind.example.com/a/b',
        { allowPrivate: false },
        async (host) => {
          asked.push(host)
          return answers
        },
      )
      expect(verdict.kind).toBe('refused')
    }
    expect(asked).toEqual(Array(5).fill('rebind.example.com'))
  })
})

test('runs nothing for a transport that is not allowed, whatever the URL says', async () => {
  const mark = join(temp.path, 'touched')
  for (const url of [`ext::sh -c "touch ${mark}"`, `ext::touch ${mark}`, `--upload-pack=touch ${mark}`, `fd::1`]) {
    const remote: Remote = { url, credential: null, allowProtocols: ['https'] }
    const mirror = await openMirror(join(temp.path, `mirror-${++count}.git`), remote)
    expect((await syncMirror(mirror)).kind).toBe('unreachable')
    expect((await createBranch(mirror, { branch: 'x', sha })).kind).not.toBe('created')
  }
  const file: Remote = { url: `file://${origin.dir}`, credential: null, allowProtocols: ['https'] }
  expect((await syncMirror(await openMirror(join(temp.path, `mirror-${++count}.git`), file))).kind).toBe('unreachable')
  expect(existsSync(mark)).toBeFalse()
})
