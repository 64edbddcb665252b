/** The proxies of docs/operate/reverse-proxy.md, run with the configuration that page shows, in front of the real listener. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import type { ChangeRequest } from '@svc/contract'
import { terminalRoute } from '@svc/contract/daemon/terminal'
import { commit, freePort } from '@svc/git/testing'
import { $ } from 'bun'
import { buildApp } from '../../app.ts'
import { readNetwork } from '../../config/network.ts'
import { Settings } from '../../config/settings.ts'
import { Listener } from '../../listen.ts'
import { terminalIngress } from '../../sessions/edge/terminal.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../../sessions/testing.ts'
import { findProxy, type Proxy, type ProxyName, startProxy } from './testing-proxies.ts'

interface Sent {
  text(): string
  write(bytes: string): void
  close(): void
}

const client = '127.0.0.2'
const largeBytes = 200 * 1024 * 1024
const names: ProxyName[] = ['nginx', 'nginx-balanced', 'nginx-stream', 'caddy']

/** A repository with a file that does not compress, for all proxies. */
let tree: string
beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), 'svc-large-'))
  if (names.every((name) => findProxy(name) === null)) return
  await $`git init -q -b large ${tree}`.quiet()
  await $`git -C ${tree} config core.compression 0`.quiet()
  await writeFile(join(tree, 'large.bin'), randomBytes(largeBytes))
  await $`git -C ${tree} add large.bin`.quiet()
  await $`git -C ${tree} -c user.name=t -c user.email=t@example.test commit -q -m large`.quiet()
}, 120_000)
afterAll(() => rm(tree, { recursive: true }))

/** Stands for the daemon of the session: echoes whatever follows an upgrade. */
async function startEcho(socket: string): Promise<Server> {
  const server = createServer((_request, response) => response.end('{"daemon":"ok"}'))
  server.on('upgrade', (_request, stream, head) => {
    stream.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    stream.write(head)
    stream.pipe(stream)
  })
  await new Promise<void>((listening) => server.listen(socket, listening))
  return server
}

for (const name of names)
  describe.skipIf(findProxy(name) === null)(name, () => {
    let app: SessionApp
    let session: RunningSession
    let daemon: Server
    let proxy: Proxy
    let listener: Listener
    let port: number
    /** Opened first, so that it is quiet while the other tests run. */
    let stream: Sent
    beforeAll(async () => {
      port = await freePort()
      const env = { SVC_TRUSTED_PROXIES: '127.0.0.1', SVC_PROXY_PROTOCOL: name === 'nginx-stream' ? '1' : '0' }
      const network = readNetwork(new Settings(env))
      const publicUrl = `https://svc.example.com:${port}`
      app = await makeSessionApp({ configure: { publicUrl, network, previewDomain: 'preview.example.com' } })
      session = await app.running()
      const address = app.deps.sessions.daemonOf(session.session_id)!
      address.socket = join(app.deps.config.dataDir, 'echo.sock')
      daemon = await startEcho(address.socket)
      const served = buildApp(app.deps)
      listener = new Listener({ fromSandbox: false, network })
      const upstream = await listener.onPort('127.0.0.1', 0)
      listener.answerWith((request, env) => served.fetch(request, env), [terminalIngress(app.deps)])
      proxy = await startProxy(name, { dir: join(app.deps.config.dataDir, name), port, upstream })
      stream = send([`GET ${pathOf('events')} HTTP/1.1`, authorized(), 'Accept: text/event-stream'])
      await until('the stream is ready', async () => stream.text().includes('event: ready'))
    }, 120_000)
    afterAll(async () => {
      stream?.close()
      await proxy?.close()
      daemon.close()
      await listener.close()
      await app.close()
    })

    /** Speaks TLS from the client's address, which differs from the proxy's. */
    function send(lines: string[], body = ''): Sent {
      let text = ''
      const options = { host: '127.0.0.1', port, localAddress: client, servername: 'svc.example.com' }
      const socket = connect({ ...options, rejectUnauthorized: false })
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
      socket.on('error', (error) => (text += `\n${error.message}`))
      const host = `Host: svc.example.com:${port}`
      socket.write([lines[0], host, ...lines.slice(1), '', body].join('\r\n'))
      return { text: () => text, write: (bytes) => socket.write(bytes), close: () => socket.destroy() }
    }
    const authorized = () => `Authorization: Bearer ${app.ownerToken}`
    const pathOf = (...parts: string[]) => ['/v1/projects', app.project.project_id, ...parts].join('/')

    test.each([[[]], [['X-Forwarded-For: 198.51.100.9', 'Forwarded: for=198.51.100.9', 'X-Real-IP: 198.51.100.9']]])(
      'audits the client address, whatever the client sends: %j',
      async (claims: string[]) => {
        const body = JSON.stringify({ name: `audited ${claims.length}` })
        const head = [authorized(), 'Content-Type: application/json', `Content-Length: ${body.length}`]
        const sent = send(['POST /v1/projects HTTP/1.1', ...head, ...claims], body)
        await until('it is answered', async () => sent.text() !== '')
        expect(sent.text()).toContain('201 Created')
        sent.close()
        const row = await app.deps.db
          .selectFrom('audit_events')
          .select('address')
          .where('action', '=', 'project.create')
          .orderBy('at', 'desc')
          .executeTakeFirstOrThrow()
        expect(row.address).toBe(client)
      },
    )

    test('passes a WebSocket in both directions', async () => {
      const path = terminalRoute.replace(':projectId', app.project.project_id).replace(':sessionId', session.session_id)
      const socket = send([
        ...[`GET ${path} HTTP/1.1`, authorized(), 'Connection: Upgrade', 'Upgrade: websocket'],
        ...[`Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`, 'Sec-WebSocket-Version: 13'],
      ])
      await until('it is open', async () => socket.text().includes('101 Switching Protocols'))
      for (const text of ['hello through the proxy', 'and again']) {
        socket.write(text)
        await until('the echo is here', async () => socket.text().includes(text))
      }
      socket.close()
    })

    test('passes a push of 200 MB and a clone of it', async () => {
      const url = `https://x-access-token:${app.ownerToken}@svc.example.com:${port}${pathOf('git')}`
      const tls = ['-c', 'http.sslVerify=false', '-c', `http.curloptResolve=svc.example.com:${port}:127.0.0.1`]
      const pushed = await $`git -C ${tree} ${tls} push ${url} large`.quiet().nothrow()
      expect([pushed.exitCode, pushed.stderr.toString()]).toEqual([0, expect.stringContaining('large -> large')])
      const clone = join(app.deps.config.dataDir, 'clone')
      const cloned = await $`git ${tls} clone --bare --single-branch --branch large ${url} ${clone}`.quiet().nothrow()
      expect([cloned.exitCode, cloned.stderr.toString()]).toEqual([0, expect.any(String)])
      // git has compared every object with its id.
      const size = await $`git -C ${clone} cat-file -s large:large.bin`.quiet().text()
      expect(Number(size)).toBe(largeBytes)
      await rm(clone, { recursive: true })
    }, 180_000)

    // Heartbeats are the only bytes of a quiet stream. Each comes well before the 60 seconds after which nginx ends a quiet connection by default.
    test('keeps a quiet event stream open and passes each event by itself', async () => {
      await until('a heartbeat is here', async () => stream.text().includes(': still here'))
      await commit(app.repo, 'shown', { 'a.txt': 'a' }, { from: app.project.default_branch })
      const opened = { title: 'Title 0', head_ref: 'shown' }
      const { cr_id: id } = (await app.request<ChangeRequest>('POST', pathOf('change-requests'), { body: opened })).body
      const updates = () => stream.text().split('event: change_request.updated').length - 1
      for (const n of [1, 2, 3]) {
        await app.request('PATCH', pathOf('change-requests', id), { body: { title: `Title ${n}` } })
        // A proxy that gathers bytes would wait for more of them.
        await until(`event ${n} is here`, async () => updates() === n)
      }
      expect(stream.text()).not.toContain('\r\n0\r\n')
    }, 120_000)

    test('treats a page of the same host over plain http as another origin', async () => {
      const body = '{"email":"a@example.test","password":"a wrong password"}'
      const ask = async (origin: string) => {
        const head = [`Origin: ${origin}`, 'Content-Type: application/json', `Content-Length: ${body.length}`]
        const sent = send(['POST /v1/sign-in/password HTTP/1.1', ...head], body)
        await until('it is answered', async () => sent.text().includes('\r\n\r\n'))
        sent.close()
        return sent.text().slice(9, 12)
      }
      expect(await ask(`https://svc.example.com:${port}`)).toBe('401')
      expect(await ask(`http://svc.example.com:${port}`)).toBe('403')
    })
  })
